import { hash as digestOf } from "node:crypto";
import { setImmediate as breathe } from "node:timers/promises";
import type { Hash64 } from "../../../shared/hash.ts";
import { bytesAt, countOf, type PackedStrings } from "../../../shared/packed-strings.ts";
import { RECORD_HISTORY_MAX, type RecordContent } from "../../../shared/user-records.ts";
import type { Interactions } from "../dataset/dataset.ts";
import { hashOrder } from "./hash-order.ts";

/** One user by the name under which a record is found. */
export type HashedUser = { readonly hash: Hash64; readonly content: RecordContent };

/** What is known of every user, wherever it lies: in memory, or in a file that was larger than memory. */
export type UserHistories = {
  /** At most; how many there are is known when all were written. */
  readonly userCount: number;
  readonly itemCount: number;
  /** The salt of the hashes. */
  readonly salt: Uint8Array;
  /**
   * All users, rising by hash, a few at a time; each time from the beginning. Of a history the newest 1,000 at most.
   */
  batches(): AsyncIterable<readonly HashedUser[]>;
};

const BATCH_USERS = 1024;

/** The users of a dataset. All interactions count as seen, the positive ones are the history. */
export function historiesOf(interactions: Interactions, userIds: PackedStrings, salt: Uint8Array): UserHistories {
  return {
    userCount: interactions.userCount,
    itemCount: interactions.itemCount,
    salt,
    async *batches() {
      const users = usersByHash(userIds, salt);
      for (let from = 0; from < users.order.length; from += BATCH_USERS) {
        const batch = users.order.subarray(from, from + BATCH_USERS);
        yield Array.from(batch, (user) => ({ hash: users.hashOf(user), content: contentOf(interactions, user) }));
        await breathe();
      }
    },
  };
}

function contentOf({ userStart, items, times, positive }: Interactions, user: number): RecordContent {
  const from = userStart[user]!;
  const to = userStart[user + 1]!;
  const seen = items.slice(from, to).sort();
  const history: number[] = []; // positions of the newest positive interactions, newest first
  for (let at = to - 1; at >= from && history.length < RECORD_HISTORY_MAX; at--)
    if (positive[at] === 1) history.push(at);
  history.reverse();
  return {
    items: history.map((at) => items[at]!),
    times: history.map((at) => times[at]!),
    seen: seen.filter((item, i) => item !== seen[i - 1]),
  };
}

/** Every user's hash, and the users in the order of their hashes. */
function usersByHash(userIds: PackedStrings, salt: Uint8Array) {
  const count = countOf(userIds);
  const high = new Uint32Array(count);
  const low = new Uint32Array(count);
  for (let user = 0; user < count; user++) {
    const digest = digestOf("sha256", Buffer.concat([salt, bytesAt(userIds, user)]), "buffer"); // as userHash does
    high[user] = digest.readUInt32BE(0);
    low[user] = digest.readUInt32BE(4);
  }
  const order = hashOrder(high, low);
  const hashOf = (user: number): Hash64 => ({ high: high[user]!, low: low[user]! });
  return { order, hashOf };
}
