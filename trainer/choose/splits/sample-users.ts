import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import { pickColumn, pickStrings } from "../../read/dataset/reorder-items.ts";

/**
 * Users drawn by lot, each with all rows, numbered anew; the catalog stays whole. What a smaller share draws is part of what a larger
 * one draws with the same seed.
 *
 * @param share Of the users, 0…1; with 1 the data themselves.
 */
export function sampleUsers(dataset: Dataset, share: number, seed: number): Dataset {
  return share >= 1 ? dataset : pickUsers(dataset, drawn(dataset.userCount, share, seed));
}

/** The users that have rows, renumbered; the catalog stays whole. */
export function usersWithRows(dataset: Dataset): Dataset {
  const { userStart, userCount } = dataset;
  const users = Int32Array.from({ length: userCount }, (_, user) => user).filter(
    (user) => userStart[user]! < userStart[user + 1]!,
  );
  return users.length === userCount ? dataset : pickUsers(dataset, users);
}

function pickUsers(dataset: Dataset, users: Int32Array): Dataset {
  return {
    ...dataset,
    ...rowsOf(dataset, users),
    userIds: pickStrings(dataset.userIds, users),
    userAttributes: dataset.userAttributes.map((column) => pickColumn(column, users)),
  };
}

/** Bytes of the arrays that hold one copy of the interactions. */
export const interactionBytes = ({ items, ratings, userCount }: Interactions): number =>
  items.length * (ratings ? 13 : 9) + 4 * userCount;

function drawn(userCount: number, share: number, seed: number): Int32Array {
  const random = seededRandom(seed, 61);
  const users = new Int32Array(userCount);
  let count = 0;
  for (let user = 0; user < userCount; user++) if (random() < share) users[count++] = user;
  return users.slice(0, count);
}

function rowsOf(all: Interactions, users: Int32Array): Interactions {
  const userStart = new Uint32Array(users.length + 1);
  for (const [to, user] of users.entries())
    userStart[to + 1] = userStart[to]! + all.userStart[user + 1]! - all.userStart[user]!;
  const count = userStart[users.length]!;
  const items = new Int32Array(count);
  const times = new Uint32Array(count);
  const positive = new Uint8Array(count);
  const ratings = all.ratings && new Float32Array(count);
  for (const [to, user] of users.entries()) {
    const [from, end] = [all.userStart[user]!, all.userStart[user + 1]!];
    items.set(all.items.subarray(from, end), userStart[to]!);
    times.set(all.times.subarray(from, end), userStart[to]!);
    positive.set(all.positive.subarray(from, end), userStart[to]!);
    ratings?.set(all.ratings!.subarray(from, end), userStart[to]!);
  }
  return { userCount: users.length, itemCount: all.itemCount, userStart, items, times, positive, ratings };
}
