/** What a user has done since the version was trained, as a part of the user's record. */
import type { ItemId, ItemIndex } from "../ids.ts";
import type { UserRecord } from "../snapshot.ts";
import type { EventMeanings, StoredEvent } from "./event.ts";

export type LiveEvent = Pick<StoredEvent, "item_id" | "type" | "created_at">;

/**
 * The record with the user's live events, which the version has not learnt. Positive ones are merged into the history by time, after
 * stored interactions of the same second. Events for items that the version does not know wait for a later version.
 */
export function withLiveEvents(
  record: UserRecord | undefined,
  live: readonly LiveEvent[],
  { meanings, indexOf }: { readonly meanings: EventMeanings; readonly indexOf: (id: ItemId) => ItemIndex | undefined },
): { readonly record: UserRecord | undefined; readonly used: number } {
  const seen = new Set<ItemIndex>();
  const history = (record?.items ?? []).map((item, i) => ({ item, time: record!.times[i]! }));
  let used = 0;
  for (const { item_id, type, created_at } of live) {
    const meaning = Object.hasOwn(meanings, type) ? meanings[type]! : undefined;
    const item = indexOf(item_id);
    if (!meaning?.seen || item === undefined) continue;
    used++;
    seen.add(item);
    if (meaning.label) history.push({ item, time: Math.floor(created_at) });
  }
  if (used === 0) return { record, used };
  history.sort((a, b) => a.time - b.time); // stable
  return {
    record: {
      ...(record?.values && { values: record.values }),
      items: history.map(({ item }) => item),
      times: history.map(({ time }) => time),
      hasSeen: (item) => seen.has(item) || (record?.hasSeen(item) ?? false),
    },
    used,
  };
}
