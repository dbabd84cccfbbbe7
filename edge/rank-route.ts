import type { Context } from "hono";
import {
  type CallDefaults,
  parseRankBody,
  parseRankQuery,
  parseSimilarBody,
  parseSimilarQuery,
  queryOf,
  RANK_BODY_BYTES_MAX,
  type RankParameters,
} from "../shared/api.ts";
import { FormatError } from "../shared/assert.ts";
import type { UserId } from "../shared/ids.ts";
import { parseJson } from "../shared/parse-request.ts";
import { Problem } from "../shared/problem.ts";
import { compileRequest, type RankAnswer, rank, runsMaxOf } from "../shared/rank.ts";
import type { UserRecord } from "../shared/snapshot.ts";
import type { CustomerQuota } from "./admission/customer-quota.ts";
import { requireScope } from "./auth.ts";
import { liveEventsOf, popularVersion, withEvents } from "./events/events-of-user.ts";
import type { EdgeEnv } from "./isolate.ts";
import { rankAnswer } from "./rank-answer.ts";
import { isUnreadable, type ReadAccess, unreadableAs } from "./reading/artifact-reader.ts";
import { sleep } from "./reading/waiting.ts";
import { jsonTextOf, readBody, refuseQuery } from "./request-body.ts";
import { writeLog } from "./request-log.ts";
import type { LiveVersion, WaitingModel } from "./versions/live-pointers.ts";
import type { LoadedVersion } from "./versions/load-version.ts";
import { snapshotOf } from "./versions/snapshot-of-version.ts";
import { userRecordOf } from "./versions/user-records.ts";
import type { VersionLease } from "./versions/version-memory.ts";
import { requireSignedUser } from "./web-page-keys.ts";

/** A refusal is delayed by this time, so that callers that ignore Retry-After cannot fill the thread. */
const REFUSAL_MS = 100;
/** Limit on the characters of x-scenario-problem. */
const SCENARIO_PROBLEM_MAX = 1000;
const UNREADABLE_RECORD = unreadableAs(
  "user_record_unavailable",
  "What this user has seen cannot be read right now, so nothing is ranked",
);

type Handler = (c: Context<EdgeEnv>) => Promise<Response>;

/** Reads a call's fields, with those of its scenario where it sends none itself. */
type ParseCall = (defaults?: CallDefaults) => RankParameters;

const byQuery =
  (parse: (query: URLSearchParams, defaults?: CallDefaults) => RankParameters): Handler =>
  (c) =>
    answerRank(c, async () => {
      const query = queryOf(c.req.url);
      return (defaults) => parse(query, defaults);
    });

/** No body is the same as an empty object. */
const byBody =
  (parse: (body: unknown, defaults?: CallDefaults) => RankParameters): Handler =>
  (c) =>
    answerRank(c, async () => {
      refuseQuery(c.req.url);
      const { rankBodies } = c.get("isolate");
      const body = await withQuota(c, rankBodies, () => readBody(c.req.raw, RANK_BODY_BYTES_MAX));
      const json = body.length === 0 ? {} : parseJson(jsonTextOf(body, c.req.header("content-type") ?? null));
      return (defaults) => parse(json, defaults);
    });

export const rankByQuery = byQuery(parseRankQuery);
export const rankByBody = byBody(parseRankBody);
export const similarByQuery = byQuery(parseSimilarQuery);
export const similarByBody = byBody(parseSimilarBody);

const RANK_PATH = /^\/v0\/models\/([^/]+)\/(?:rank|similar_items)$/;

/**
 * Begins to read the live pointer and the erased users while the key is read, so that all three take one trip to R2. The customer may
 * be wrong. What is read belongs to that customer in every cache, and the call only uses it if its key is valid and says the same.
 */
export function readAhead(c: Context<EdgeEnv>, customer: string): void {
  const modelName = RANK_PATH.exec(c.req.path)?.[1];
  if (modelName === undefined) return;
  const { pointers, erased } = c.get("isolate");
  const access = accessOfCall(c);
  const target = pointers.liveVersion(customer, modelName, access);
  target.catch(() => undefined); // thrown when the call uses it
  erased.prefetch(customer, access);
  c.set("ahead", { customer, modelName, target });
}

/** Access for the call's reads, which must all end within the timeout of rank calls. */
function accessOfCall(c: Context<EdgeEnv>): ReadAccess {
  const { reader, settings } = c.get("isolate");
  return { ...c.get("access"), reader: reader.endingIn(settings.RANK_TIMEOUT_MS) };
}

async function answerRank(c: Context<EdgeEnv>, read: () => Promise<ParseCall>): Promise<Response> {
  const { admission, ranks } = c.get("isolate");
  requireScope(c.get("caller")!, "rank");
  if (admission.isFull(c.get("caller")!.customer, c.get("access").nowMs())) await refuse(c);
  const parse = await read();
  const sent = parse();
  if (sent.userId !== undefined)
    await requireSignedUser(c.get("caller")!, sent.userId, c.req.header("x-user-signature"));
  return withQuota(c, ranks, () => rankWithLiveVersion(c, sent, parse));
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

async function rankWithLiveVersion(c: Context<EdgeEnv>, sent: RankParameters, parse: ParseCall): Promise<Response> {
  const { erased, settings } = c.get("isolate");
  const { customer } = c.get("caller")!;
  const access = accessOfCall(c);
  const startedMs = access.nowMs();
  // The list is read together with the pointer, but applied when the record is read, since a version may take seconds to load.
  if (sent.userId !== undefined) erased.prefetch(customer, access);
  const target = await liveVersion(c, access);
  const untilMs = startedMs + settings.RANK_TIMEOUT_MS;
  const { loaded, release } = await leaseVersion(c, target, { sent, access, untilMs });
  const versionMs = access.nowMs() - startedMs;
  try {
    const parameters = sent.scenario === undefined ? sent : await withScenario(c, loaded, { sent, parse, access });
    const [stored, live] = await Promise.all([
      readRecord(c, loaded, { parameters, access }),
      liveEventsOf(c, loaded, { userId: parameters.userId, access }),
    ]);
    const record = withEvents(c, loaded, { record: stored, live });
    const recordMs = access.nowMs() - startedMs - versionMs;
    const answer = await rankInTurn(c, loaded, { parameters, record, startedMs });
    // The clock stands still while the Worker computes, so only the waiting is known.
    const turnMs = access.nowMs() - startedMs - versionMs - recordMs;
    c.header("server-timing", `version;dur=${versionMs}, record;dur=${recordMs}, turn;dur=${turnMs}`);
    return rankAnswer(c, loaded, { answer, parameters });
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const detail = `The version ${JSON.stringify(loaded.target.live.version)} cannot rank. Try again.`;
    throw new Problem("artifact_unavailable", detail, { cause: error, retryAfterSeconds: 2 });
  } finally {
    release();
  }
}

type Leasing = { readonly sent: RankParameters; readonly access: ReadAccess; readonly untilMs: number };

/** Leases the live version or, before the first one, its stand-in of popular items, which knows no similar items. */
async function leaseVersion(
  c: Context<EdgeEnv>,
  target: LiveVersion | WaitingModel,
  { sent, access, untilMs }: Leasing,
): Promise<VersionLease> {
  const { versions, reader } = c.get("isolate");
  if (target.live !== null) return versions.lease(target, { ...access, reader, log: writeLog }, untilMs);
  if (sent.similarTo !== undefined) throw target.notActive;
  return { loaded: await popularVersion(c, target, access), release: () => {} };
}

function liveVersion(c: Context<EdgeEnv>, access: ReadAccess): Promise<LiveVersion | WaitingModel> {
  const { customer } = c.get("caller")!;
  const modelName = c.req.param("model_name")!;
  const ahead = c.get("ahead");
  if (ahead?.customer === customer && ahead.modelName === modelName) return ahead.target;
  return c.get("isolate").pointers.liveVersion(customer, modelName, access);
}

type ScenarioCall = { readonly sent: RankParameters; readonly parse: ParseCall; readonly access: ReadAccess };

/** The call with its scenario's fields as defaults. Parts that do not fit the version are left out, and a header says so. */
async function withScenario(
  c: Context<EdgeEnv>,
  loaded: LoadedVersion,
  { sent, parse, access }: ScenarioCall,
): Promise<RankParameters> {
  const { fields, problems } = await c.get("isolate").scenarios.fitting(loaded, sent.scenario!, access);
  if (problems.length > 0) {
    const text = problems.join("; ").replaceAll(/[^\x20-\x7e]/g, "?"); // a header has no other characters
    c.header("x-scenario-problem", text.slice(0, SCENARIO_PROBLEM_MAX));
  }
  return parse(fields);
}

type Reading = { readonly parameters: RankParameters; readonly access: ReadAccess };

/** The stored record of the call's user. Throws Problem user_record_unavailable, unless the operator prefers a list without it. */
async function readRecord(
  c: Context<EdgeEnv>,
  loaded: LoadedVersion,
  { parameters, access }: Reading,
): Promise<UserRecord | undefined> {
  const { versions, erased, settings } = c.get("isolate");
  const { customer } = c.get("caller")!;
  const { userId } = parameters;
  if (userId === undefined) return undefined;
  const isErased = (user: UserId) => erased.isErased(customer, user, access);
  const checkRequest = () => {
    const { snapshot, release } = snapshotOf(loaded);
    try {
      compileRequest({ ...parameters, nowSeconds: 0 }, snapshot);
    } finally {
      release();
    }
  };
  try {
    return await userRecordOf(loaded, userId, { ...access, pages: versions.pages, isErased, beforeRead: checkRequest });
  } catch (error) {
    if (!settings.SERVE_UNFILTERED || !isUnreadable(error)) return UNREADABLE_RECORD(error);
    c.header("x-seen-filter", "unavailable");
    const request_id = c.get("requestId");
    writeLog({ event: "served_unfiltered", level: "warning", request_id, error: String(error) });
    return undefined;
  }
}

type Ranking = {
  readonly parameters: RankParameters;
  /** The stored record of the call's user, with live events. */
  readonly record: UserRecord | undefined;
  readonly startedMs: number;
};

/** Ranks when it is the call's turn; everything that has to be read is in memory. */
async function rankInTurn(c: Context<EdgeEnv>, loaded: LoadedVersion, ranking: Ranking): Promise<RankAnswer> {
  const { parameters, record, startedMs } = ranking;
  const { customer } = c.get("caller")!;
  const { nowMs } = c.get("access");
  const { item_count } = loaded.manifest;
  const itemCount = item_count * runsMaxOf(parameters, item_count);
  const admitted = c.get("isolate").admission.admit({ customer, itemCount, nowMs });
  if (admitted === undefined) return refuse(c);
  const { snapshot, release } = snapshotOf(loaded, record);
  try {
    await admitted.turn();
    return await rank({ ...parameters, nowSeconds: startedMs / 1000 }, snapshot);
  } finally {
    release();
    admitted.end();
  }
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
