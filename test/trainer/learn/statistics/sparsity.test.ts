import { expect, test } from "vitest";
import { itemKnn } from "../../../../trainer/learn/item-knn.ts";
import { localSetRidge } from "../../../../trainer/learn/local-set-ridge.ts";
import { between, sparsity } from "../../../../trainer/learn/statistics/sparsity.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

const withPerItem = (count: number, itemCount = 10) => ({ itemCount, items: new Int32Array(count * itemCount) });

test("few interactions an item are sparse, many are not, and it changes evenly with their logarithm", () => {
  expect([0, 1, 13, 48, 300].map((count) => sparsity(withPerItem(count)))).toEqual([1, 1, 1, 0, 0]);
  expect(sparsity(withPerItem(25))).toBeCloseTo(0.5, 2); // √(13 · 48) = 24.98
  expect(sparsity({ itemCount: 0, items: new Int32Array(0) })).toBe(1);
});

test("settings between the two ends have two digits", () => {
  expect([0, 0.5, 1].map((share) => between(0.5, 0.25, share))).toEqual([0.5, 0.38, 0.25]);
  expect(between(3, 10, 0.31)).toBe(5.2);
});

test("the first guesses follow the density, and no settings are tried twice", () => {
  const sparse = trainingData(
    40,
    Array.from({ length: 20 }, (_, user) => [user, user + 1, user + 2]),
  );
  const dense = trainingData(
    2,
    Array.from({ length: 60 }, () => [0, 1]),
  );
  expect(localSetRidge.grid(sparse)[0]).toMatchObject({ lambda: 10, penaltyExponent: 0.25 });
  expect(localSetRidge.grid(dense)[0]).toMatchObject({ lambda: 3, penaltyExponent: 0.5 });
  expect(itemKnn.grid(sparse)[0]).toMatchObject({ targetExponent: 0.1 });
  expect(itemKnn.grid(dense)[0]).toMatchObject({ targetExponent: 0.5 });
  for (const data of [sparse, dense]) {
    for (const grid of [localSetRidge.grid(data), itemKnn.grid(data)]) {
      expect(new Set(grid.map((own) => JSON.stringify(own))).size).toBe(grid.length);
    }
  }
});
