import { expect, test } from "vitest";
import { localSetRidge } from "../../../../trainer/learn/local-set-ridge.ts";
import {
  between,
  countItems,
  distinctItems,
  halfLives,
  hasNegatives,
  isVerySparse,
  occurrencesOf,
  positiveHistories,
  sparsity,
  timesChosen,
  upTo,
  wholeHistories,
} from "../../../../trainer/learn/statistics/histories.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

const data = trainingData(4, [[3, 1, 3, 0], [], [2]]);

test("half-lives are worth trying where at least a tenth of the users come back on another day", () => {
  const users = trainingData(
    4,
    Array.from({ length: 20 }, () => [0, 1]),
  );
  const back = (count: number) => users.items.map((_, row) => (row % 2 === 1 && row < 2 * count ? 100_000 : 0));
  const found = [0, 2, 3].map((count) => halfLives({ ...users, times: Uint32Array.from(back(count)) }));
  expect(found).toEqual([[], [], [30, 180]]);
});

test("histories hold only the newest positive interactions, oldest first", () => {
  const positive = Uint8Array.of(1, 1, 0, 1, 1);
  expect([...positiveHistories({ ...data, positive }).items]).toEqual([3, 1, 0, 2]);
  const newest = positiveHistories({ ...data, positive }, 2);
  expect([[...newest.start], [...newest.items]]).toEqual([
    [0, 2, 2, 3],
    [1, 0, 2],
  ]);
});

test("histories up to other ends lose what comes after, with its values", () => {
  const histories = { ...positiveHistories(data), values: Float32Array.of(1, 2, 3, 4, 5) };
  const shorter = upTo(histories, Uint32Array.of(2, 4, 5));
  expect([[...shorter.start], [...shorter.items], [...shorter.values!.subarray(0, 3)]]).toEqual([
    [0, 2, 2, 3],
    [3, 1, 2],
    [1, 2, 5],
  ]);
});

test("every positive interaction counts, negative ones do not", () => {
  expect([...timesChosen(data)]).toEqual([1, 1, 1, 2]);
  expect([...countItems(positiveHistories(data, 2))]).toEqual([1, 0, 1, 1]);
  expect([...timesChosen({ ...data, positive: Uint8Array.of(1, 1, 0, 1, 1) })]).toEqual([1, 1, 1, 1]);
});

test("distinct items are in ascending order", () => {
  const distinct = distinctItems(positiveHistories(data));
  expect([[...distinct.start], [...distinct.items]]).toEqual([
    [0, 3, 3, 4],
    [0, 1, 3, 2],
  ]);
});

test("occurrences list each item's users and positions", () => {
  const { start, users, positions } = occurrencesOf(positiveHistories(data));
  expect([...start]).toEqual([0, 1, 2, 3, 5]);
  expect([...users]).toEqual([0, 0, 2, 0, 0]);
  expect([...positions]).toEqual([3, 1, 4, 0, 2]);
});

test("whole histories include negative interactions", () => {
  const labelled = { ...data, positive: Uint8Array.of(1, 0, 0, 1, 1) };
  expect([...wholeHistories(labelled, 3).items]).toEqual([1, 3, 0, 2]);
  expect([hasNegatives(labelled), hasNegatives(data)]).toEqual([true, false]);
});

/** Data with so many interactions of each of ten items; nobody chose the other ten of the catalog. */
const withPerItem = (count: number) => ({
  itemCount: 20,
  items: Int32Array.from({ length: 10 * count }, (_, row) => row % 10),
});

test("sparsity falls from 1 to 0 with the logarithm of the interactions per item", () => {
  expect([0, 1, 13, 48, 300].map((count) => sparsity(withPerItem(count)))).toEqual([1, 1, 1, 0, 0]);
  expect(sparsity(withPerItem(25))).toBeCloseTo(0.5, 2); // √(13 · 48) = 24.98
  expect(sparsity({ itemCount: 0, items: new Int32Array(0) })).toBe(1);
});

test("data with fewer than nine interactions per item are very sparse", () => {
  expect([0, 8, 9, 10].map((count) => isVerySparse(withPerItem(count)))).toEqual([true, true, false, false]);
});

test("interpolated settings have two digits", () => {
  expect([0, 0.5, 1].map((position) => between(0.5, 0.25, position))).toEqual([0.5, 0.38, 0.25]);
  expect(between(3, 10, 0.31)).toBe(5.2);
});

test("the best guesses follow the density, and no setting occurs twice in a grid", () => {
  const threeOf = (userCount: number) =>
    Array.from({ length: userCount }, (_, user) => [0, 1, 2].map((i) => (user + i) % 20));
  const [verySparse, sparse] = [trainingData(20, threeOf(20)), trainingData(20, threeOf(70))];
  const dense = trainingData(
    2,
    Array.from({ length: 60 }, () => [0, 1]),
  );
  expect(localSetRidge.grid(verySparse)[0]).toMatchObject({ lambda: 30, penaltyExponent: 0 });
  expect(localSetRidge.grid(sparse)[0]).toMatchObject({ lambda: 10, penaltyExponent: 0.25 });
  expect(localSetRidge.grid(dense)[0]).toMatchObject({ lambda: 3, penaltyExponent: 0.5 });
  for (const data of [verySparse, sparse, dense]) {
    const grid = localSetRidge.grid(data).map((params) => JSON.stringify(params));
    expect(new Set(grid).size).toBe(grid.length);
  }
});
