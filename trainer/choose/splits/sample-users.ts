import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import { pickColumn, pickStrings } from "../../read/dataset/reorder-items.ts";

/**
 * A seeded random sample of the users with all their rows, renumbered; the catalog stays whole. With the same seed, a smaller sample is
 * part of a larger one.
 *
 * @param fraction Fraction of the users, 0…1; with 1 the dataset itself.
 */
export function sampleUsers(dataset: Dataset, fraction: number, seed: number): Dataset {
  return fraction >= 1 ? dataset : pickUsers(dataset, drawUsers(dataset.userCount, fraction, seed));
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

function drawUsers(userCount: number, fraction: number, seed: number): Int32Array {
  const random = seededRandom(seed, 61);
  const users = new Int32Array(userCount);
  let count = 0;
  for (let user = 0; user < userCount; user++) if (random() < fraction) users[count++] = user;
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
