import fc from "fast-check";
import { expect, test } from "vitest";
import { denseWeights, strongestWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";
import { mostMattering } from "../../../../trainer/learn/weights/weight-pruning.ts";

const sparse = (rows: number, columns: number, values: readonly number[]) =>
  strongestWeights(denseWeights(rows, columns, Float32Array.from(values)), columns);

test("the weights of largest size times the row's factor stay, over all rows of all matrices", () => {
  const first = { matrix: sparse(2, 3, [1, -5, 3, 2, 2, 2]), rowFactors: undefined };
  const second = { matrix: sparse(1, 3, [1, 0.4, 0]), rowFactors: Float32Array.of(10) };
  const { rowCount, columnCount, start, columns, values } = mostMattering([first, second], 4);
  expect([rowCount, columnCount]).toEqual([3, 3]);
  expect([...start]).toEqual([0, 2, 2, 4]);
  expect([...columns]).toEqual([1, 2, 0, 1]);
  expect([...values]).toEqual([-5, 3, 1, Math.fround(0.4)]);
});

test("of equal ones the first stay, exactly as many as asked for; none and all", () => {
  const equal = { matrix: sparse(2, 3, [1, 1, 1, 1, 1, 1]), rowFactors: undefined };
  expect([...mostMattering([equal], 4).start]).toEqual([0, 3, 4]);
  expect([...mostMattering([equal], 0).start]).toEqual([0, 0, 0]);
  expect(mostMattering([equal], 6)).toBe(equal.matrix);
  expect([...mostMattering([equal, equal], 100).start]).toEqual([0, 3, 6, 9, 12]);
});

test("nothing that goes is larger than what stays, to a 4096th", () => {
  const drawn = fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 12, maxLength: 12 });
  fc.assert(
    fc.property(drawn, fc.integer({ min: 0, max: 12 }), (values, keep) => {
      const matrix = sparse(4, 3, values);
      const kept = mostMattering([{ matrix, rowFactors: undefined }], keep);
      expect(kept.values.length).toBe(Math.min(keep, matrix.values.length));
      const sizes = [...matrix.values].map(Math.abs).sort((a, b) => b - a);
      const least = Math.min(...[...kept.values].map(Math.abs));
      if (kept.values.length > 0) expect(least).toBeGreaterThanOrEqual(sizes[kept.values.length - 1]! * (1 - 1 / 2048));
    }),
  );
});
