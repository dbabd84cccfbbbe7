import { hash as digestOf } from "node:crypto";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { Hash64 } from "../../../shared/hash.ts";
import { bytesAt, countOf, type PackedStrings } from "../../../shared/packed-strings.ts";
import { RECORD_HISTORY_MAX, type RecordContent } from "../../../shared/user-records.ts";
import type { Interactions } from "../dataset/dataset.ts";
import { hashOrder } from "./hash-order.ts";

/** One user, by the hash under which the record is found. */
export type HashedUser = { readonly hash: Hash64; readonly content: RecordContent };

/** The histories of all users, from memory or from a spool. */
export type UserHistories = {
  /** Upper bound of the number of users. */
  readonly userCount: number;
  readonly itemCount: number;
  /** Salt of the hashes. */
  readonly salt: Uint8Array;
  /** All users in batches, by ascending hash, with at most the newest 1,000 interactions. Each call starts anew. */
  batches(): AsyncIterable<readonly HashedUser[]>;
};

const BATCH_USERS = 1024;

/** The users of a dataset. All interactions are seen items; the positive ones are the history. */
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
        await yieldToEventLoop();
      }
    },
  };
}

function contentOf({ userStart, items, times, positive }: Interactions, user: number): RecordContent {
  const from = userStart[user]!;
  const to = userStart[user + 1]!;
  const seen = items.slice(from, to).sort();
  const history: number[] = []; // positions of positive interactions, newest first
  for (let at = to - 1; at >= from && history.length < RECORD_HISTORY_MAX; at--)
    if (positive[at] === 1) history.push(at);
  history.reverse();
  return {
    items: history.map((at) => items[at]!),
    times: history.map((at) => times[at]!),
    seen: seen.filter((item, i) => item !== seen[i - 1]),
  };
}

/** The hash of each user, and the users in the order of their hashes. */
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
