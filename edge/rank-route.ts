import type { Context } from "hono";
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
import type { Snapshot, UserRecord } from "../shared/snapshot.ts";
import type { CustomerQuota } from "./admission/customer-quota.ts";
import { requireScope } from "./auth.ts";
import type { EdgeEnv } from "./isolate.ts";
import type { ArtifactReader } from "./reading/artifact-reader.ts";
import { DeadlineError, sleep, within } from "./reading/deadline.ts";
import { type CallDeadline, callDeadline } from "./reading/reader-deadlines.ts";
import type { RequestAccess } from "./reading/request-access.ts";
import { jsonTextOf, readBody } from "./request-body.ts";
import { writeLog } from "./request-log.ts";
import { leasedScores } from "./versions/leased-scores.ts";
import type { LiveVersion } from "./versions/live-pointers.ts";
import type { LoadedVersion } from "./versions/load-version.ts";
import { type RecordPolicy, snapshotOf } from "./versions/snapshot-of-version.ts";

/** A refusal is delayed by this time, so that callers that ignore Retry-After cannot fill the thread. */
const REFUSAL_MS = 100;

/** `GET /v0/models/:model_name/rank?user_id=&limit=` */
export const rankByQuery = (c: Context<EdgeEnv>): Promise<Response> =>
  answerRank(c, async () => parseRankQuery(queryOf(c.req.url)));

/** `POST /v0/models/:model_name/rank`; no body is the same as an empty object. */
export const rankByBody = (c: Context<EdgeEnv>): Promise<Response> =>
  answerRank(c, async () => {
    const [first] = new URLSearchParams(searchOf(c.req.url)).keys();
    if (first !== undefined) throw notInQuery(first);
    const { rankBodies } = c.get("isolate");
    const body = await withQuota(c, rankBodies, () => readBody(c.req.raw, RANK_BODY_BYTES_MAX));
    return parseRankBody(body.length === 0 ? {} : parseJson(jsonTextOf(body, c.req.header("content-type") ?? null)));
  });

const RANK_PATH = /^\/v0\/models\/([^/]+)\/rank$/;

/**
 * Begins to read the live pointer and the erased users while the key is read, so that all three take one trip to R2. The customer is
 * only likely. What is read belongs to that customer in every cache, and the call only uses it if its key is valid and says the same.
 */
export function readAhead(c: Context<EdgeEnv>, customer: string): void {
  const modelName = RANK_PATH.exec(c.req.path)?.[1];
  if (modelName === undefined) return;
  const { pointers, erased, reader } = c.get("isolate");
  const access = { ...c.get("access"), reader };
  const target = pointers.liveVersion(customer, modelName, access);
  target.catch(() => undefined); // thrown when the call uses it
  erased.prefetch(customer, access).catch(() => undefined); // read again when the user's record is wanted
  c.set("ahead", { customer, modelName, target });
}

async function answerRank(c: Context<EdgeEnv>, parse: () => Promise<RankParameters>): Promise<Response> {
  const { admission, ranks, reader, settings } = c.get("isolate");
  const { customer } = c.get("caller")!;
  const { nowMs } = c.get("access");
  requireScope(c.get("caller")!, "rank");
  if (admission.isFull(customer, nowMs())) await refuse(c);
  const parameters = await parse();
  const deadline = callDeadline(reader, nowMs() + settings.RANK_TIMEOUT_MS, nowMs);
  return withQuota(c, ranks, () => deadline.before(rankWithLiveVersion(c, parameters, deadline)).catch(tooLate));
}

async function withQuota<T>(c: Context<EdgeEnv>, quota: CustomerQuota, work: () => Promise<T>): Promise<T> {
  const release = quota.take(c.get("caller")!.customer, c.get("access").nowMs());
  if (release === undefined) return refuse(c);
  try {
    return await work();
  } finally {
    release();
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
  { reader: readerOfCall, untilMs }: CallDeadline,
): Promise<Response> {
  const { versions, erased, reader } = c.get("isolate");
  const { customer } = c.get("caller")!;
  const access = { ...c.get("access"), reader, log: writeLog };
  const accessOfCall = { ...access, reader: readerOfCall };
  const startedMs = access.nowMs();
  const { userId } = parameters;
  // The list is read together with the pointer, but applied when the record is read, since a version may take seconds to load.
  if (userId !== undefined) erased.prefetch(customer, accessOfCall).catch(() => undefined);
  const target = await liveVersion(c, accessOfCall, untilMs);
  const { loaded, release } = await versions.lease(target, access, untilMs);
  const versionMs = access.nowMs() - startedMs;
  try {
    const policy: RecordPolicy = {
      reader: readerOfCall,
      pages: versions.pages,
      access,
      isErased: (user: UserId) => erased.isErased(customer, user, accessOfCall),
      serveUnfiltered: c.get("isolate").settings.SERVE_UNFILTERED,
      onUnfiltered: (error) => sayUnfiltered(c, error),
    };
    const snapshot = snapshotOf(loaded, policy);
    const record = userId === undefined ? undefined : await snapshot.userRecord(userId);
    const recordMs = access.nowMs() - startedMs - versionMs;
    const answer = await rankInTurn(c, loaded, { parameters, snapshot, record, startedMs });
    // The clock stands still while the Worker computes, so only the waiting is known.
    const turnMs = access.nowMs() - startedMs - versionMs - recordMs;
    c.header("server-timing", `version;dur=${versionMs}, record;dur=${recordMs}, turn;dur=${turnMs}`);
    return rankAnswer(c, snapshot, answer);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const detail = `The version ${JSON.stringify(loaded.target.live.version)} cannot rank. Try again.`;
    throw new Problem("artifact_unavailable", detail, { cause: error, retryAfterSeconds: 2 });
  } finally {
    release();
  }
}

type ReadAccess = RequestAccess & { readonly reader: ArtifactReader };

function liveVersion(c: Context<EdgeEnv>, access: ReadAccess, untilMs: number): Promise<LiveVersion> {
  const { customer } = c.get("caller")!;
  const modelName = c.req.param("model_name")!;
  const ahead = c.get("ahead");
  if (ahead?.customer === customer && ahead.modelName === modelName)
    return within(untilMs - access.nowMs(), "reading the live pointer", ahead.target);
  return c.get("isolate").pointers.liveVersion(customer, modelName, access);
}

type Ranking = {
  readonly parameters: RankParameters;
  readonly snapshot: Snapshot;
  /** What is stored of the user of the call. */
  readonly record: UserRecord | undefined;
  readonly startedMs: number;
};

/** Ranks when it is the call's turn; everything that has to be read is in memory. */
async function rankInTurn(c: Context<EdgeEnv>, { manifest }: LoadedVersion, ranking: Ranking): Promise<RankAnswer> {
  const { parameters, snapshot, record, startedMs } = ranking;
  const { admission } = c.get("isolate");
  const { customer } = c.get("caller")!;
  const { nowMs } = c.get("access");
  const admitted = admission.admit({ customer, itemCount: manifest.item_count, nowMs });
  if (admitted === undefined) return refuse(c);
  const { snapshot: leased, release: releaseScores } = leasedScores({ ...snapshot, userRecord: async () => record });
  try {
    await admitted.turn();
    return await rank({ ...parameters, nowSeconds: startedMs / 1000 }, leased);
  } finally {
    releaseScores();
    admitted.end();
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

function sayUnfiltered(c: Context<EdgeEnv>, error: unknown): void {
  c.header("x-seen-filter", "unavailable");
  const request_id = c.get("requestId");
  writeLog({ event: "served_unfiltered", level: "warning", request_id, error: String(error) });
}

/** Throws Problem overloaded, after a while. Refused calls are logged together, about once a second. */
async function refuse(c: Context<EdgeEnv>): Promise<never> {
  const { admission, ranks } = c.get("isolate");
  const nowMs = c.get("access").nowMs();
  c.set("isLoggedTogether", true);
  const count = admission.countRefusal(nowMs);
  if (count !== undefined) writeLog({ event: "ranks_refused", level: "error", count, waiting: ranks.taken(nowMs) });
  await sleep(REFUSAL_MS);
  throw new Problem("overloaded", "Too many rank calls at once. Try again.", { retryAfterSeconds: 1 });
}

function notInQuery(name: string): Problem {
  const message = "is not a query parameter of POST: send it in the body";
  const pointer = pointerStep(name.slice(0, 80));
  return new Problem("unknown_field", `${pointer} ${message}`, {
    errors: [{ pointer, code: "unknown_field", message }],
  });
}
