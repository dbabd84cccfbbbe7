import fc from "fast-check";
import { expect, test } from "vitest";
import { denseWeights, strongestWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";
import { pruneWeights } from "../../../../trainer/learn/weights/weight-pruning.ts";

const sparse = (rows: number, columns: number, values: readonly number[]) =>
  strongestWeights(denseWeights(rows, columns, Float32Array.from(values)), columns);

test("the weights with the largest size times row factor are kept, over all matrices", () => {
  const first = { matrix: sparse(2, 3, [1, -5, 3, 2, 2, 2]), rowFactors: undefined };
  const second = { matrix: sparse(1, 3, [1, 0.4, 0]), rowFactors: Float32Array.of(10) };
  const { rowCount, columnCount, start, columns, values } = pruneWeights([first, second], 4);
  expect([rowCount, columnCount]).toEqual([3, 3]);
  expect([...start]).toEqual([0, 2, 2, 4]);
  expect([...columns]).toEqual([1, 2, 0, 1]);
  expect([...values]).toEqual([-5, 3, 1, Math.fround(0.4)]);
});

test("the first weights win ties, and none and all can be kept", () => {
  const equal = { matrix: sparse(2, 3, [1, 1, 1, 1, 1, 1]), rowFactors: undefined };
  expect([...pruneWeights([equal], 4).start]).toEqual([0, 3, 4]);
  expect([...pruneWeights([equal], 0).start]).toEqual([0, 0, 0]);
  expect(pruneWeights([equal], 6)).toBe(equal.matrix);
  expect([...pruneWeights([equal, equal], 100).start]).toEqual([0, 3, 6, 9, 12]);
});

test("no weight that is left out is larger than one that is kept, to a 4096th", () => {
  const drawn = fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 12, maxLength: 12 });
  fc.assert(
    fc.property(drawn, fc.integer({ min: 0, max: 12 }), (values, keep) => {
      const matrix = sparse(4, 3, values);
      const kept = pruneWeights([{ matrix, rowFactors: undefined }], keep);
      expect(kept.values.length).toBe(Math.min(keep, matrix.values.length));
      const sizes = [...matrix.values].map(Math.abs).sort((a, b) => b - a);
      const least = Math.min(...[...kept.values].map(Math.abs));
      if (kept.values.length > 0) expect(least).toBeGreaterThanOrEqual(sizes[kept.values.length - 1]! * (1 - 1 / 2048));
    }),
    { numRuns: 40 },
  );
});
