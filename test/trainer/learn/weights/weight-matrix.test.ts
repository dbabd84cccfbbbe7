import fc from "fast-check";
import { expect, test } from "vitest";
import { addRow, denseWeights, longestRow, strongestWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

const matrix = denseWeights(2, 4, Float32Array.of(1, -3, 0, 2, 0, 0, 5, 0));

test("the strongest weights of a row have the largest absolute values", () => {
  const { start, columns, values } = strongestWeights(matrix, 2);
  expect([[...start], [...columns], [...values]]).toEqual([
    [0, 2, 3],
    [1, 3, 2],
    [-3, 2, 5],
  ]);
});

test("lower columns win ties", () => {
  const equal = denseWeights(1, 4, Float32Array.of(1, -1, 1, 1));
  expect([...strongestWeights(equal, 2).columns]).toEqual([0, 1]);
  expect(strongestWeights(equal, 0).columns.length).toBe(0);
});

test("a row is added with a factor", () => {
  for (const form of [matrix, strongestWeights(matrix, 4)]) {
    const into = new Float64Array(4).fill(1);
    addRow(form, 0, 2, into);
    expect([...into]).toEqual([3, -5, 1, 5]);
  }
});

test("the longest row is counted without zeros", () => {
  expect([longestRow(matrix), longestRow(strongestWeights(matrix, 2))]).toEqual([3, 2]);
});

test("in each row, no weight that is left out is stronger than one that is kept", () => {
  const numbers = fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 12, maxLength: 12 });
  fc.assert(
    fc.property(numbers, fc.integer({ min: 0, max: 5 }), (values, keep) => {
      const whole = denseWeights(3, 4, Float32Array.from(values));
      const kept = strongestWeights(whole, keep);
      for (let row = 0; row < 3; row++) {
        const own = values
          .slice(row * 4, row * 4 + 4)
          .map(Math.abs)
          .sort((a, b) => b - a);
        const got = [...kept.values.slice(kept.start[row], kept.start[row + 1])].map(Math.abs).sort((a, b) => b - a);
        expect(got).toEqual(own.filter((size) => size > 0).slice(0, keep));
      }
      const again = strongestWeights(kept, keep);
      expect([...again.columns, ...again.values]).toEqual([...kept.columns, ...kept.values]);
    }),
  );
});
