import fc from "fast-check";
import { expect, test } from "vitest";
import { normal, samplePositions, seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";

const draws = (seed: number, stream?: number) => Array.from({ length: 5 }, seededRandom(seed, stream));

test("the same seed and stream give the same numbers, others do not", () => {
  expect(draws(1)).toEqual(draws(1));
  expect(draws(1)).not.toEqual(draws(2));
  expect(draws(1)).not.toEqual(draws(1, 1));
});
test("ten thousand numbers fill ten bins evenly", () => {
  const random = seededRandom(5);
  const bins = new Array<number>(10).fill(0);
  for (let i = 0; i < 10_000; i++) bins[Math.floor(random() * 10)]!++;
  for (const count of bins) expect(Math.abs(count - 1000)).toBeLessThan(150);
});
test("a sample is distinct, ascending, in range and of the size asked for", () => {
  fc.assert(
    fc.property(fc.nat(60), fc.nat(60), fc.integer(), (total, count, seed) => {
      const sample = [...samplePositions(total, count, seededRandom(seed))];
      expect(sample).toEqual([...new Set(sample)].sort((a, b) => a - b));
      expect(sample.length).toBe(Math.min(total, count));
      for (const position of sample) expect(position).toBeLessThan(total);
    }),
  );
});

test("normal numbers have mean 0 and variance 1", () => {
  const random = seededRandom(1);
  const values = Array.from({ length: 20_000 }, () => normal(random));
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + value ** 2, 0) / values.length;
  expect(mean).toBeCloseTo(0, 1);
  expect(variance).toBeCloseTo(1, 1);
  expect(values.every(Number.isFinite)).toBe(true);
});
