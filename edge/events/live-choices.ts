/** What users have chosen since a version was trained, counted by the shards for lists of trending items. */
import type { RankParameters } from "../../shared/api.ts";
import type { ItemId } from "../../shared/ids.ts";
import { Problem } from "../../shared/problem.ts";
import { type Choices, type LiveChoices, sumOfChoices } from "../../shared/recent-choices.ts";
import type { Isolate } from "../isolate.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { writeLog } from "../request-log.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { type CustomerShards, callShards, eventsOrProblem } from "./call-shards.ts";
import { type CountedChoices, indexedBy } from "./choice-cache.ts";

/** Limit on the items that are read from all shards together. */
const ITEMS_MAX = 4000;
type Sources = Pick<Isolate, "choices" | "eventShards" | "settings"> & {
  readonly shards: CustomerShards;
  readonly requestId: string;
};

/**
 * Undefined for a call that needs no counts, for a version that listens to no events, and without an answer of the shards if the operator
 * prefers a list without them. Throws Problem events_unavailable.
 */
export async function liveChoicesOf(
  { strategy }: Pick<RankParameters, "strategy">,
  { manifest, catalog, target }: LoadedVersion,
  { choices, eventShards, settings, shards, requestId: request_id }: Sources,
  access: ReadAccess,
): Promise<LiveChoices | undefined> {
  if (strategy !== "trending" || !manifest.events) return undefined;
  const { meanings, learnt } = manifest.events;
  const types = Object.keys(meanings).filter((type) => meanings[type]!.label);
  const count = async (): Promise<CountedChoices> => {
    const names = await eventShards.all(shards.customer, access);
    const limit = Math.ceil(ITEMS_MAX / Math.max(1, names.length));
    const found = await callShards(shards, names, access, (rpc, shard) =>
      rpc.choices(types, learnt[shard] ?? 0, limit),
    );
    const items = new Map<ItemId, Choices>();
    for (const { item, ...own } of found.flatMap((counts) => counts.items))
      items.set(item, sumOfChoices(own, items.get(item)));
    return { items, totals: found.reduce((sum, { totals }) => sumOfChoices(totals, sum), { recent: 0, earlier: 0 }) };
  };
  const key = JSON.stringify([shards.customer, target.modelName, target.live.version, meanings]);
  try {
    const detail = "What is chosen now cannot be counted, so nothing is ranked";
    const counted = await eventsOrProblem(detail, () => choices.counted.get(key, count, access));
    return counted && indexedBy(catalog, counted, choices);
  } catch (error) {
    if (!settings.SERVE_WITHOUT_EVENTS || !(error instanceof Problem)) throw error;
    writeLog({ event: "served_without_events", level: "warning", request_id, error: String(error.cause) });
    return undefined;
  }
}
