import { expect, test } from "vitest";
import { localRidge } from "../../../../trainer/learn/linear/local-ridge.ts";
import { addTo } from "../../../../trainer/learn/weights/row-sum.ts";
import { sparseBuilder } from "../../../../trainer/learn/weights/sparse-builder.ts";
import { positiveDefinite } from "../../../fixtures/positive-definite.ts";

const SIZE = 40;
const a = positiveDefinite(SIZE);
const RIDGE = 2;

function problem(neighbours: number, isNeighbour = (_feature: number, _target: number) => true) {
  const lower = sparseBuilder(SIZE, SIZE);
  for (let row = 0; row < SIZE; row++) {
    for (let column = 0; column < row; column++) lower.add(column, a[row * SIZE + column]!);
    lower.endRow();
  }
  return {
    featureCount: SIZE,
    targetCount: 3,
    lower: lower.build(),
    diagonal: Float64Array.from({ length: SIZE }, (_, i) => a[i * SIZE + i]!),
    ridge: new Float64Array(SIZE).fill(RIDGE),
    addTarget: (target: number, into: Parameters<typeof addTo>[0]) => {
      for (let feature = 0; feature < SIZE; feature++) addTo(into, feature, 1 + ((feature * 7 + target) % 5));
    },
    isNeighbour,
    neighbours,
  };
}

test("with all features as neighbours, the weights solve (A + Λ) W = C up to the allowed residual", async () => {
  const weights = await localRidge(problem(SIZE), async () => {});
  for (let target = 0; target < 3; target++) {
    const w = new Float64Array(SIZE);
    for (let f = 0; f < SIZE; f++) {
      for (let at = weights.start[f]!; at < weights.start[f + 1]!; at++) {
        if (weights.columns[at] === target) w[f] = weights.values[at]!;
      }
    }
    for (let f = 0; f < SIZE; f++) {
      let sum = RIDGE * w[f]!;
      for (let g = 0; g < SIZE; g++) sum += a[f * SIZE + g]! * w[g]!;
      expect(Math.abs(sum - (1 + ((f * 7 + target) % 5)))).toBeLessThan(0.02);
    }
  }
});

test("a target has at most the allowed number of neighbours, and no forbidden ones", async () => {
  const weights = await localRidge(
    problem(5, (feature, target) => feature % 3 !== target),
    async () => {},
  );
  const perTarget = [0, 0, 0];
  for (let f = 0; f < SIZE; f++) {
    for (let at = weights.start[f]!; at < weights.start[f + 1]!; at++) {
      perTarget[weights.columns[at]!]!++;
      expect(f % 3).not.toBe(weights.columns[at]);
    }
  }
  for (const count of perTarget) expect(count).toBeLessThanOrEqual(5);
  expect(Math.max(...perTarget)).toBeGreaterThan(0);
});

test("only what a prior leaves is learnt: a prior that explains half leaves half of the weights", async () => {
  const explain = (fraction: number) => (_target: number, _neighbours: Int32Array, entries: Float64Array) => {
    for (const i of entries.keys()) entries[i]! *= 1 - fraction;
  };
  const weights = (fraction: number) => localRidge({ ...problem(SIZE), explain: explain(fraction) }, async () => {});
  const [whole, half, none] = await Promise.all([weights(0), weights(0.5), weights(1)]);
  expect(none.values).toHaveLength(0);
  expect(half.columns).toEqual(whole.columns);
  for (const [i, value] of half.values.entries()) expect(value).toBeCloseTo(whole.values[i]! / 2, 3);
});
