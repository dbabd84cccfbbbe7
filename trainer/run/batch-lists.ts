/** Makes the lists of a batch: the rank rule of the edge over many users, with one run of the model for many of them. */

import { parseRankBody, type RankParameters } from "../../shared/api.ts";
import type { BatchBody } from "../../shared/batch.ts";
import { type LiveEvent, withLiveEvents } from "../../shared/events/live-events.ts";
import { joinedRecord } from "../../shared/events/merges.ts";
import type { ItemId, UserId } from "../../shared/ids.ts";
import { Problem } from "../../shared/problem.ts";
import { rank } from "../../shared/rank.ts";
import { fittingPart, type Scenario } from "../../shared/scenario.ts";
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

/** The rows of some users, which are ranked at the same time. */
export async function listsOf(
  users: readonly BatchUser[],
  {
    version,
    scorer,
    request,
    nowSeconds,
  }: {
    readonly version: StoredVersion;
    readonly scorer: Pick<Scorer, "score">;
    readonly request: BatchRequest;
    readonly nowSeconds: number;
  },
): Promise<BatchRow[]> {
  const { manifest } = version;
  const rowsOf = async ({ id, others, live }: BatchUser): Promise<BatchRow[]> => {
    const records = [];
    for (const each of [id, ...others]) records.push(await version.recordOf(version.hashOf(each)));
    const stored = joinedRecord(records);
    const snapshot = version.snapshotOf(scorer, stored);
    const record = manifest.events
      ? withLiveEvents(stored, live, { meanings: manifest.events.meanings, indexOf: snapshot.indexOf }).record
      : stored;
    const answer = await rank({ ...request, userId: id, nowSeconds }, { ...snapshot, userRecord: async () => record });
    const isForNobody = request.itemIds !== undefined && answer.history.items.length === 0; // popular items say nothing of this user
    if (isForNobody) return [];
    return answer.items.map((item, i) => ({
      user: id,
      rank: i + 1,
      item: snapshot.idAt(item),
      score: answer.scores![i]!,
    }));
  };
  return (await Promise.all(users.map(rowsOf))).flat();
}
