/**
 * Users who are one person: an anonymous id and, after the login, the customer's own id. A merge only says so. Events stay stored under the
 * ids with which they arrived, and every reader takes those of all ids together. So a merge loses and doubles nothing, whenever it arrives.
 *
 * In exported files a merge is a line like an event: `user_id` is merged into `item_id`. The line is in the files of both users' shards.
 */
import type { UserId } from "../ids.ts";
import type { UserRecord } from "../snapshot.ts";
import type { StoredEvent } from "./event.ts";

/** The type of a line that is a merge. No event has it, since its name begins with another character. */
export const MERGE = "$merge";
/** Limit on the ids of one person. */
export const PERSON_IDS_MAX = 200;

/** The events of `from` count as those of `to`. */
export type Merge = { readonly from: UserId; readonly to: UserId };

export const mergeLine = ({ from, to }: Merge, { seq, at }: { readonly seq: number; readonly at: number }) => ({
  event_id: "",
  user_id: from,
  item_id: to as string,
  type: MERGE,
  created_at: Math.floor(at / 1000),
  value: null,
  rank_id: null,
  seq,
});

export const mergeOfLine = ({ user_id, item_id }: Pick<StoredEvent, "user_id" | "item_id">): Merge => ({
  from: user_id,
  to: item_id as string as UserId,
});

/**
 * For every id of a merge, the id of the person: the end of the chain of merges. Of several ends, and of a circle, which two calls at the
 * same time can make, it is the first in the order of texts. The order of merges does not matter.
 */
export function personIds(merges: Iterable<Merge>): Map<UserId, UserId> {
  const above = new Map<UserId, UserId>();
  const topOf = (id: UserId): UserId => {
    let top = id;
    for (let next = above.get(top)!; next !== top; next = above.get(top)!) {
      above.set(top, above.get(next)!);
      top = next;
    }
    return top;
  };
  const merged = new Set<UserId>();
  for (const { from, to } of merges) {
    for (const id of [from, to]) if (!above.has(id)) above.set(id, id);
    merged.add(from);
    above.set(topOf(from), topOf(to));
  }
  const isBetter = (id: UserId, than: UserId) => (merged.has(id) === merged.has(than) ? id < than : merged.has(than));
  const best = new Map<UserId, UserId>(); // by top
  for (const id of above.keys()) {
    const known = best.get(topOf(id));
    if (known === undefined || isBetter(id, known)) best.set(topOf(id), id);
  }
  return new Map([...above.keys()].map((id) => [id, best.get(topOf(id))!]));
}

/**
 * The ids of a person that can have a record in a version. A record of a learnt merge's `from` has moved to the end of its chain.
 *
 * @param learnt The merges that the version certainly has learnt. To leave one out is harmless: its ids are then read too.
 */
export function idsWithRecords(ids: readonly UserId[], learnt: readonly Merge[]): UserId[] {
  const moved = new Set(learnt.map(({ from }) => from));
  const ends = new Set(personIds(learnt).values());
  return ids.filter((id) => !moved.has(id) || ends.has(id));
}

/** The records of one person as one record. Attribute values are those of the first record that has some. */
export function joinedRecord(records: readonly (UserRecord | undefined)[]): UserRecord | undefined {
  const found = records.filter((record) => record !== undefined);
  if (found.length < 2) return found[0];
  const history = found.flatMap(({ items, times }) => items.map((item, i) => ({ item, time: times[i]! })));
  history.sort((a, b) => a.time - b.time); // stable
  const values = found.find((record) => record.values)?.values;
  return {
    ...(values && { values }),
    items: history.map(({ item }) => item),
    times: history.map(({ time }) => time),
    hasSeen: (item) => found.some((record) => record.hasSeen(item)),
  };
}
