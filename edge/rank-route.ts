import type { Context, MiddlewareHandler } from "hono";
import {
  parseRankBody,
  parseRankQuery,
  queryOf,
  RANK_BODY_BYTES_MAX,
  type RankParameters,
  searchOf,
} from "../shared/api.ts";
import { FormatError } from "../shared/assert.ts";
import { itemIdToJson, type UserId } from "../shared/ids.ts";
import { parseJson, pointerStep } from "../shared/parse-request.ts";
import { Problem } from "../shared/problem.ts";
import { type RankAnswer, rank } from "../shared/rank.ts";
import type { Snapshot } from "../shared/snapshot.ts";
import type { Shares } from "./admission/shares.ts";
import { requireScope } from "./auth.ts";
import type { EdgeEnv } from "./edge-env.ts";
import type { Isolate } from "./isolate.ts";
import { problemResponse } from "./problem-response.ts";
import { DeadlineError, sleep } from "./reading/deadline.ts";
import { type CallDeadline, callDeadline } from "./reading/reader-deadlines.ts";
import { jsonTextOf, readBody } from "./request-body.ts";
import { writeLog } from "./request-log.ts";
import { leasedScores } from "./versions/leased-scores.ts";
import { type RecordPolicy, snapshotOf } from "./versions/snapshot-of-version.ts";

/** `GET /v0/models/:model_name/rank?user_id=&limit=` */
export const rankByQuery = (c: Context<EdgeEnv>): Promise<Response> =>
  answerRank(c, async () => parseRankQuery(queryOf(c.req.url)));

/** `POST /v0/models/:model_name/rank`; no body at all is the empty request. */
export const rankByBody = (c: Context<EdgeEnv>): Promise<Response> =>
  answerRank(c, async () => {
    const [first] = new URLSearchParams(searchOf(c.req.url)).keys();
    if (first !== undefined) throw notInQuery(first);
    const body = await heldBody(c);
    return parseRankBody(body.length === 0 ? {} : parseJson(jsonTextOf(body, c.req.header("content-type") ?? null)));
  });

/**
 * Refuses what is beyond the isolate's capacity before anything else is done for it, not even a line in the log: the less
 * a refusal costs, the less those wait who were let in.
 */
export const refuseOverload: MiddlewareHandler<EdgeEnv> = async (c, next) => {
  const isolate = c.get("isolate");
  const nowMs = c.get("access").nowMs();
  const { admission, holders } = isolate;
  if (!admission.isFull(nowMs, holders.of(c.req.header("x-api-key")))) return next();
  c.set("isRefusedUnread", true);
  const problem = refused(isolate, nowMs);
  const holdMs = admission.holdMs(nowMs);
  if (holdMs > 0) await sleep(holdMs);
  return problemResponse(problem, c.get("requestId"));
};

async function answerRank(c: Context<EdgeEnv>, parse: () => Promise<RankParameters>): Promise<Response> {
  requireScope(c.get("caller")!, "rank");
  const parameters = await parse();
  const { ranks, reader, settings } = c.get("isolate");
  const { nowMs } = c.get("access");
  const deadline = callDeadline(reader, nowMs() + settings.RANK_TIMEOUT_MS, nowMs);
  return withShare(c, ranks, () => deadline.before(rankWithLiveVersion(c, parameters, deadline)).catch(tooLate));
}

const heldBody = (c: Context<EdgeEnv>) =>
  withShare(c, c.get("isolate").rankBodies, () => readBody(c.req.raw, RANK_BODY_BYTES_MAX));

async function withShare<T>(c: Context<EdgeEnv>, shares: Shares, work: () => Promise<T>): Promise<T> {
  const nowMs = c.get("access").nowMs();
  const giveBack = shares.take(c.get("caller")!.customer, nowMs);
  if (giveBack === undefined) throw refused(c.get("isolate"), nowMs);
  try {
    return await work();
  } finally {
    giveBack();
  }
}

function tooLate(error: unknown): never {
  if (!(error instanceof DeadlineError)) throw error;
  const detail = "The model's files come too slowly right now. Try again.";
  throw new Problem("artifact_unavailable", detail, { cause: error, retryAfterSeconds: 2 });
}

async function rankWithLiveVersion(
  c: Context<EdgeEnv>,
  parameters: RankParameters,
  { reader: ownReader, untilMs }: CallDeadline,
): Promise<Response> {
  const isolate = c.get("isolate");
  const { pointers, versions, erased, admission, reader, settings } = isolate;
  const { customer } = c.get("caller")!;
  const access = { ...c.get("access"), reader, log: writeLog };
  const startedMs = access.nowMs();
  const own = { ...access, reader: ownReader };
  const { userId } = parameters;
  const isErased = (user: UserId) => erased.isErased(customer, user, own);
  // Read along with the pointer; asked when the record is wanted, since a version may take seconds to come.
  if (userId !== undefined) erased.prefetch(customer, own).catch(() => undefined);
  const target = await pointers.liveVersion(customer, c.req.param("model_name")!, own);
  const { loaded, release } = await versions.lease(target, access, untilMs);
  const loadedMs = access.nowMs();
  const place = admission.admit({ holder: customer, itemCount: loaded.manifest.item_count, nowMs: loadedMs });
  if (place === undefined) {
    release();
    throw refused(isolate, loadedMs);
  }
  try {
    if (place.beginMs > loadedMs) await sleep(place.beginMs - loadedMs);
    place.begin(access.nowMs());
    const failures: unknown[] = [];
    const onUnfiltered = (error: unknown) => failures.push(error);
    const policy: RecordPolicy = {
      reader: ownReader,
      pages: versions.pages,
      access,
      isErased,
      serveUnfiltered: settings.SERVE_UNFILTERED,
      onUnfiltered,
    };
    const { snapshot: leased, release: releaseScores } = leasedScores(snapshotOf(loaded, policy));
    const userRecord = (user: UserId) => place.away(leased.userRecord(user), access.nowMs);
    const snapshot = { ...leased, userRecord };
    const answer = await rank({ ...parameters, nowSeconds: startedMs / 1000 }, snapshot).finally(releaseScores);
    if (failures.length > 0) {
      c.header("x-seen-filter", "unavailable");
      writeLog({
        event: "served_unfiltered",
        level: "warning",
        request_id: c.get("requestId"),
        error: String(failures[0]),
      });
    }
    const timing = `version;dur=${loadedMs - startedMs}, rank;dur=${access.nowMs() - loadedMs}`;
    c.header("server-timing", timing);
    return rankAnswer(c, snapshot, answer);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const detail = `The version ${snapshotName(loaded.target.live.version)} cannot rank. Try again.`;
    throw new Problem("artifact_unavailable", detail, { cause: error, retryAfterSeconds: 2 });
  } finally {
    place.end(access.nowMs());
    release();
  }
}

function rankAnswer(c: Context<EdgeEnv>, snapshot: Snapshot, answer: RankAnswer): Response {
  const rankId = crypto.randomUUID();
  c.header("x-rank-id", rankId);
  c.header("x-model-version", snapshot.version);
  c.header("x-rank-strategy", answer.strategy);
  c.header("x-ignored-interactions", String(answer.ignoredInteractions));
  const { strategy, items } = answer;
  c.set("ranked", { version: snapshot.version, rank_id: rankId, strategy, item_count: items.length });
  return c.json(items.map((item) => itemIdToJson(snapshot.idAt(item), snapshot.itemIdType)));
}

function refused({ admission, ranks }: Isolate, nowMs: number): Problem {
  const count = admission.refuse(nowMs);
  if (count !== undefined) writeLog({ event: "ranks_refused", level: "error", count, waiting: ranks.count(nowMs) });
  return new Problem("overloaded", "Too many rank calls at once. Try again.", { retryAfterSeconds: 1 });
}

const snapshotName = (version: string) => JSON.stringify(version);

const notInQuery = (name: string) => {
  const message = "is not a query parameter of POST: send it in the body";
  const pointer = pointerStep(name.slice(0, 80));
  return new Problem("unknown_field", `${pointer} ${message}`, {
    errors: [{ pointer, code: "unknown_field", message }],
  });
};
