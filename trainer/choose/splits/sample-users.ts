import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import { pickColumn, pickStrings } from "../../read/dataset/reorder-items.ts";
import { rowsWhere } from "../../read/dataset/split.ts";

/**
 * The rows of a seeded random sample of the users; users keep their numbers. With the same seed, a smaller sample is part of a larger one.
 *
 * @param fraction Fraction of the users, 0…1.
 */
export function rowsOfSome<Data extends Interactions>(data: Data, fraction: number, seed: number): Data {
  const random = seededRandom(seed, 61);
  const isIn = new Uint8Array(data.items.length);
  for (let user = 0; user < data.userCount; user++) {
    if (random() < fraction) isIn.fill(1, data.userStart[user]!, data.userStart[user + 1]!);
  }
  return { ...data, ...rowsWhere(data, (row) => isIn[row] === 1) };
}

/** A seeded random sample of the users with their rows, renumbered; the catalog stays whole. With the fraction 1 the dataset itself. */
export const sampleUsers = (dataset: Dataset, fraction: number, seed: number): Dataset =>
  fraction >= 1 ? dataset : usersWithRows(rowsOfSome(dataset, fraction, seed));

/** The users that have rows, renumbered; the catalog stays whole. */
export function usersWithRows(dataset: Dataset): Dataset {
  const { userStart, userCount } = dataset;
  const users = Int32Array.from({ length: userCount }, (_, user) => user).filter(
    (user) => userStart[user]! < userStart[user + 1]!,
  );
  if (users.length === userCount) return dataset;
  return {
    ...dataset,
    userCount: users.length,
    userStart: Uint32Array.from({ length: users.length + 1 }, (_, i) => (i === 0 ? 0 : userStart[users[i - 1]! + 1]!)),
    userIds: pickStrings(dataset.userIds, users),
    userAttributes: dataset.userAttributes.map((column) => pickColumn(column, users)),
  };
}

/** Bytes of the arrays that hold one copy of the interactions. */
export const interactionBytes = ({ items, ratings, userCount }: Interactions): number =>
  items.length * (ratings ? 13 : 9) + 4 * userCount;
