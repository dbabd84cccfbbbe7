/** The calls about health: for monitors, and `GET /v0/health` for people. */
import type { Context } from "hono";
import { type Finding, fault, type HealthReport, ok, TrainerHealth, warning } from "../shared/health.ts";
import { Problem } from "../shared/problem.ts";
import { PRODUCT_VERSION } from "../shared/product.ts";
import { requireScope } from "./auth.ts";
import { callShards, customerShards } from "./events/call-shards.ts";
import { manage } from "./forward.ts";
import type { EdgeEnv } from "./isolate.ts";
import { refuseQuery } from "./request-body.ts";

const HOUR_MS = 3_600_000;
/** Without an event for this long, whoever sends them has probably stopped. */
const SILENT_MS = 48 * HOUR_MS;

/** The Worker runs. */
export function live(c: Context<EdgeEnv>): Response {
  return c.json({ status: "live", version: PRODUCT_VERSION });
}

/** The bucket answers, so ranking can work. */
export async function ready(c: Context<EdgeEnv>): Promise<Response> {
  if (await isBucketReady(c)) return c.json({ status: "ready", version: PRODUCT_VERSION });
  throw new Problem("artifact_unavailable", "The models' bucket does not answer.", { retryAfterSeconds: 2 });
}

function isBucketReady(c: Context<EdgeEnv>): Promise<boolean | undefined> {
  const { readiness, reader } = c.get("isolate");
  const isAnswering = () =>
    reader.changed("health", { etag: null, bytesMax: Infinity }).then(
      () => true, // the object need not exist
      () => false,
    );
  return readiness.get("bucket", isAnswering, c.get("access"));
}

/** `GET /v0/health`. A trainer that is away is a finding: the edge's own findings are there without it. */
export async function viewHealth(c: Context<EdgeEnv>): Promise<Response> {
  requireScope(c.get("caller")!, "manage");
  refuseQuery(c.req.url);
  const [ofTrainer, isReady, events] = await Promise.all([trainerHealth(c), isBucketReady(c), eventsFinding(c)]);
  if (ofTrainer instanceof Response) return ofTrainer;
  const lists: Finding = {
    name: "lists",
    ...(isReady ? ok("the edge reads the bucket") : fault("the edge cannot read the bucket", "Tell the operator.")),
  };
  const report: HealthReport = {
    checked_at: new Date(c.get("access").nowMs()).toISOString(),
    findings: [lists, ...events, ...ofTrainer.findings],
    operator: ofTrainer.operator,
  };
  return c.json(report);
}

/** The trainer's findings, or its refusal of the call. */
async function trainerHealth(c: Context<EdgeEnv>): Promise<Pick<HealthReport, "findings" | "operator"> | Response> {
  const only = (found: Omit<Finding, "name">) => ({ findings: [{ name: "trainer", ...found }], operator: null });
  const answer = await manage(c).catch((error: unknown) => {
    if (error instanceof Problem && error.code === "trainer_unavailable") return undefined;
    throw error;
  });
  if (answer === undefined)
    return only(
      fault(
        "the trainer does not answer: models are not trained and cannot be changed; lists are served as before",
        "The operator starts it, and looks at its log (npm run doctor).",
      ),
    );
  if (!answer.ok && answer.status !== 404) return answer;
  const report = TrainerHealth.safeParse(await answer.json().catch(() => undefined));
  if (!report.success)
    return only(warning(`the trainer is of another release than the edge (${PRODUCT_VERSION})`, SAME_RELEASE));
  const { version, findings, operator } = report.data;
  const releases = `edge ${PRODUCT_VERSION}, trainer ${version}`;
  const isSame = version === PRODUCT_VERSION;
  const release: Finding = { name: "release", ...(isSame ? ok(releases) : warning(releases, SAME_RELEASE)) };
  return { findings: [...findings, release], operator };
}

const SAME_RELEASE = "Both work meanwhile. The operator brings them to one release.";

/** Nothing about a customer that has never sent an event. */
async function eventsFinding(c: Context<EdgeEnv>): Promise<Finding[]> {
  const { eventShards, reader } = c.get("isolate");
  const access = { ...c.get("access"), reader };
  const shards = customerShards(c);
  try {
    const names = await eventShards.all(shards.customer, access);
    if (names.length === 0) return [];
    const newestMs = Math.max(...(await callShards(shards, names, access, (rpc) => rpc.newestAt())));
    const hours = Math.floor((access.nowMs() - newestMs) / HOUR_MS);
    const remedy = "Look at what sends them: POST /v0/events.";
    const found =
      newestMs === 0
        ? warning("none is stored of the last days", remedy)
        : hours * HOUR_MS > SILENT_MS
          ? warning(`the newest arrived ${hours} hours ago`, remedy)
          : ok(`the newest arrived ${hours < 1 ? "within the last hour" : `${hours} hours ago`}`);
    return [{ name: "events", ...found }];
  } catch {
    return [{ name: "events", ...fault("cannot be read right now", "Try again. If it stays, tell the operator.") }];
  }
}
