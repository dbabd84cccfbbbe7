import { expect, test } from "vitest";
import { graphVectors } from "../../../../trainer/learn/statistics/graph-vectors.ts";
import { positiveHistories } from "../../../../trainer/learn/statistics/histories.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

/** Two groups of four items, each chosen by users of its own; nobody chose the last item. */
const histories = positiveHistories(
  trainingData(9, [
    [0, 1, 2],
    [1, 2, 3],
    [3, 0, 1],
    [4, 5, 6],
    [5, 6, 7],
    [7, 4],
  ]),
);

test("items of one group of users point in one direction, and other groups in others", async () => {
  const vectors = await graphVectors(histories, 2, fitContext());
  const cosine = (a: number, b: number) =>
    vectors[2 * a]! * vectors[2 * b]! + vectors[2 * a + 1]! * vectors[2 * b + 1]!;
  for (const other of [0, 1, 2, 3]) expect(cosine(0, other)).toBeCloseTo(1, 2);
  for (const other of [4, 5, 6, 7]) expect(Math.abs(cosine(0, other))).toBeLessThan(0.1);
});

test("an item that nobody chose has zeros, as have directions beyond the number of items", async () => {
  const vectors = await graphVectors(histories, 12, fitContext());
  expect(vectors.length).toBe(9 * 12);
  expect([...vectors.subarray(8 * 12)].every((value) => value === 0)).toBe(true);
  for (let item = 0; item < 8; item++) {
    const row = vectors.subarray(item * 12, (item + 1) * 12);
    expect(Math.hypot(...row)).toBeCloseTo(1, 5);
    expect([...row.subarray(9)]).toEqual([0, 0, 0]);
  }
});
