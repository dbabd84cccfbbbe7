/** The calls for ranked lists and for similar items. */
import type { Context } from "hono";
import { parseRankBody, parseRankQuery, parseSimilarBody, parseSimilarQuery } from "../shared/api.ts";
import { requireScope } from "./auth.ts";
import { commonHeaders } from "./common-headers.ts";
import { customerShards } from "./events/call-shards.ts";
import { expose } from "./events/exposure-of-call.ts";
import { liveChoicesOf } from "./events/live-choices.ts";
import type { EdgeEnv, Isolate } from "./isolate.ts";
import { type AnswerParts, answerParts } from "./rank-answer.ts";
import { type Asked, byBody, byQuery, type ReadAsked, withScenario } from "./ranking/asked.ts";
import { requireRoom, withPlace } from "./ranking/capacity.ts";
import { withChanges } from "./ranking/changes-of-call.ts";
import { type RankCall, rankAccess, waitingTimer } from "./ranking/rank-call.ts";
import { rankInTurn } from "./ranking/rank-in-turn.ts";
import { userOfCall } from "./ranking/user-of-call.ts";
import { leaseVersion, unlessDamaged } from "./ranking/version-of-call.ts";
import { requireSignedUser } from "./web-page-keys.ts";

export const rankByQuery = rankRoute(byQuery(parseRankQuery));
export const rankByBody = rankRoute(byBody(parseRankBody));
export const similarByQuery = rankRoute(byQuery(parseSimilarQuery));
export const similarByBody = rankRoute(byBody(parseSimilarBody));

/** One rank call, step by step: who calls, what is asked, which version, which user, rank, answer. Throws Problem. */
async function answerRank(call: RankCall, isolate: Isolate, read: () => Promise<Asked>): Promise<AnswerParts> {
  requireScope(call.caller, "rank");
  await requireRoom(call, isolate);

  const asked = await read();
  const { sent } = asked;
  if (sent.userId !== undefined) await requireSignedUser(call.caller, sent.userId, call.userSignature);

  return withPlace(isolate.ranks, call, isolate, async () => {
    const access = rankAccess(call, isolate);
    const waitedMs = waitingTimer(call.nowMs);

    const leased = await leaseVersion(call, isolate, sent, access);
    const { loaded: version, release, choice, defaultScenario, pageAhead } = leased;
    try {
      const { loaded, changeHeaders } = await withChanges(call, isolate, leased, access);
      const versionMs = waitedMs();
      const { parameters, scenarioHeaders } = await withScenario(
        asked,
        { loaded, choice, defaultScenario },
        isolate,
        access,
      );
      const [{ record, userHeaders }, liveChoices] = await Promise.all([
        userOfCall(call, isolate, { loaded, parameters, pageAhead }, access),
        liveChoicesOf(parameters, loaded, { ...isolate, ...call }, access),
      ]);
      const recordMs = waitedMs();

      const ranked = await rankInTurn(call, isolate, { loaded, parameters, record, liveChoices }, access);
      const timing = `version;dur=${versionMs}, record;dur=${recordMs}, turn;dur=${waitedMs()}`;

      const headers = { ...changeHeaders, ...scenarioHeaders, ...userHeaders, "server-timing": timing };
      for (const part of choice.parts) call.waitUntil(expose(part, call, isolate, access));
      return answerParts(loaded, { parameters, ranked, headers, arm: choice.name });
    } catch (error) {
      throw unlessDamaged(error, version);
    } finally {
      release();
    }
  });
}

/** Reads a request's call, answers it, and writes the answer. */
function rankRoute(readAsked: ReadAsked): (c: Context<EdgeEnv>) => Promise<Response> {
  return async (c) => {
    const isolate = c.get("isolate");
    const caller = c.get("caller")!;
    const call: RankCall = {
      ...c.get("access"),
      requestId: c.get("requestId"),
      caller,
      customer: caller.customer,
      modelName: c.req.param("model_name")!,
      userSignature: c.req.header("x-user-signature"),
      ahead: c.get("ahead"),
      shards: customerShards(c),
    };
    const { headers, body, logged } = await answerRank(call, isolate, () => readAsked(c.req.raw, call, isolate));
    c.set("ranked", logged);
    // All headers at once: c.header() and c.json() would write each one twice.
    const answer = Response.json(body, { headers: { ...headers, ...commonHeaders(call.requestId) } });
    c.set("hasCommonHeaders", true);
    return answer;
  };
}

const RANK_PATH = /^\/v0\/models\/([^/]+)\/(?:rank|similar_items)$/;

/**
 * Begins to read the live pointer, the changes of the catalog and the erased users while the key is read, so that all take one trip to
 * R2. The customer may be wrong. What is read belongs to that customer in every cache, and the call only uses it if its key is valid and
 * says the same.
 */
export function readAhead(c: Context<EdgeEnv>, customer: string): void {
  const modelName = RANK_PATH.exec(c.req.path)?.[1];
  if (modelName === undefined) return;
  const { pointers, changes, erased } = c.get("isolate");
  const access = rankAccess(c.get("access"), c.get("isolate"));
  const target = pointers.liveVersion(customer, modelName, access);
  target.catch(() => undefined); // thrown when the call uses it
  changes.prefetch({ customer, modelName }, access);
  erased.prefetch(customer, access);
  c.set("ahead", { customer, modelName, target });
}
