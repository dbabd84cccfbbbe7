/** Makes the lists of a batch: the rank rule of the edge over many users, with one run of the model for many of them. */

import { parseRankBody, type RankParameters } from "../../shared/api.ts";
import type { BatchBody } from "../../shared/batch.ts";
import { type LiveEvent, withLiveEvents } from "../../shared/events/live-events.ts";
import { joinedRecord } from "../../shared/events/merges.ts";
import type { ItemId, ItemIndex, UserId } from "../../shared/ids.ts";
import { Problem } from "../../shared/problem.ts";
import { compileRequest, rank } from "../../shared/rank.ts";
import { fittingPart, type Scenario } from "../../shared/scenario.ts";
import type { Snapshot } from "../../shared/snapshot.ts";
import type { Head, HeadScorer } from "../learn/scoring/head-scorer.ts";
import type { Scorer } from "../learn/scoring/onnx-scorer.ts";
import type { StoredVersion } from "./stored-version.ts";

/** One user of a batch: the ids of the person, and what the person did since the version was trained. */
export type BatchUser = {
  readonly id: UserId;
  readonly others: readonly UserId[];
  readonly live: readonly LiveEvent[];
};

export type BatchRow = { readonly user: UserId; readonly rank: number; readonly item: ItemId; readonly score: number };

/** What is asked for each user. */
export type BatchRequest = Omit<RankParameters, "userId">;

/** The request of a rank call with this limit and scenario, as the edge reads it. Throws Problem if the model knows none of the items. */
export function batchRequest(body: BatchBody, scenario: Scenario | undefined, version: StoredVersion): BatchRequest {
  const names = version.snapshotOf({ score: async () => new Float32Array(0) }, undefined);
  const { return: _, ...fields } = scenario ? fittingPart(scenario, names).fields : ({} as Scenario);
  if (body.items?.every((item) => names.indexOf(item as ItemId) === undefined))
    throw new Problem("item_not_found", "The model has no item with one of the ids in items.");
  const own = body.items
    ? { item_ids: body.items, limit: body.items.length, exclude_seen: true }
    : { limit: body.limit };
  return { ...parseRankBody(own, fields), wanted: { scores: true, reasons: false } };
}

/** Part of the items that a filter must pass for the best ones to be found without scoring all. */
const PASSING_MIN = 0.5;

/** Whether a user's list is the best items by score, with few that it may not have. */
export function isBestByScore(request: BatchRequest, version: StoredVersion): boolean {
  const { shaping, strategy, onlyChosen, excludeSeen, itemIds, filter } = request;
  const names = version.snapshotOf({ score: async () => new Float32Array(0) }, undefined);
  const joinsChosen = !excludeSeen && names.repeatIntervals?.odds;
  if (shaping || strategy || onlyChosen || joinsChosen || itemIds || names.newCount) return false;
  if (filter === undefined) return true;
  const { isMatch, refersToUser } = compileRequest({ ...request, userId: undefined, nowSeconds: 0 }, names);
  let passing = 0;
  for (let item = 0; item < names.itemCount; item++) if (isMatch(item as ItemIndex)) passing++;
  return !refersToUser && passing >= PASSING_MIN * names.itemCount;
}

type Ranking = {
  readonly version: StoredVersion;
  readonly scorer: Pick<Scorer, "score">;
  /** Present if the request is for the best items by score. */
  readonly heads?: Pick<HeadScorer, "headOf"> | undefined;
  readonly request: BatchRequest;
  readonly nowSeconds: number;
};

/** The rows of some users, which are ranked at the same time. */
export async function listsOf(users: readonly BatchUser[], ranking: Ranking): Promise<BatchRow[]> {
  const { version, scorer, heads, request, nowSeconds } = ranking;
  const { manifest } = version;
  const unfilled = new Float32Array(manifest.item_count);
  const rowsOf = async ({ id, others, live }: BatchUser): Promise<BatchRow[]> => {
    const records = [];
    for (const each of [id, ...others]) records.push(await version.recordOf(version.hashOf(each)));
    const stored = joinedRecord(records);
    const snapshot = version.snapshotOf(scorer, stored);
    const record = manifest.events
      ? withLiveEvents(stored, live, { meanings: manifest.events.meanings, indexOf: snapshot.indexOf }).record
      : stored;
    const asked = { ...request, userId: id, nowSeconds };
    const known = { ...snapshot, userRecord: async () => record };
    const list = (heads && (await bestByScore(asked, known, { heads, unfilled }))) ?? (await scoredList(asked, known));
    return list.map(({ item, score }, i) => ({ user: id, rank: i + 1, item: snapshot.idAt(item), score }));
  };
  return (await Promise.all(users.map(rowsOf))).flat();
}

type ScoredItem = { readonly item: ItemIndex; readonly score: number };

async function scoredList(request: RankParameters & { nowSeconds: number }, snapshot: Snapshot): Promise<ScoredItem[]> {
  const answer = await rank(request, snapshot);
  const isForNobody = request.itemIds !== undefined && answer.history.items.length === 0; // popular items say nothing of this user
  return isForNobody ? [] : answer.items.map((item, i) => ({ item, score: answer.scores![i]! }));
}

/** The same list without the scores of all items; undefined for a user without a history, and if too few of the best items may be in it. */
async function bestByScore(
  request: RankParameters & { nowSeconds: number },
  snapshot: Snapshot,
  { heads, unfilled }: { readonly heads: Pick<HeadScorer, "headOf">; readonly unfilled: Float32Array },
): Promise<ScoredItem[] | undefined> {
  let head: Head | undefined;
  let isKnown = false;
  const answer = await rank(
    { ...request, wanted: undefined },
    {
      ...snapshot,
      async score(history) {
        head = await heads.headOf(history);
        return unfilled;
      },
      bestOf(limit, isCandidate) {
        const best = head!.bestOf(limit, isCandidate);
        isKnown = best !== undefined;
        return best ?? [];
      },
    },
  );
  if (head === undefined || !isKnown) return undefined;
  const { scoreOf, scale } = head;
  const { mean, deviation } = scale();
  return answer.items.map((item) => ({ item, score: (scoreOf(item) - mean) / deviation }));
}
