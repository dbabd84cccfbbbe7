import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../trainer/chance/seeded-random.ts";
import { bootstrapMeans, mean, pairedDifference } from "../../../trainer/evaluate/bootstrap.ts";

const normal = (random: () => number) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

describe("bootstrapMeans", () => {
  test("the interval of 400 normal values is about 1.96 standard errors each way", () => {
    const random = seededRandom(1);
    const [interval] = bootstrapMeans([Float64Array.from({ length: 400 }, () => normal(random))], { seed: 7 });
    expect(interval!.high - interval!.low).toBeGreaterThan(0.17);
    expect(interval!.high - interval!.low).toBeLessThan(0.23); // 2 · 1.96 / √400 = 0.196
  });
  test("about 95 of 100 intervals hold the true mean", () => {
    const held = Array.from({ length: 200 }, (_, seed) => {
      const random = seededRandom(seed);
      const [interval] = bootstrapMeans([Float64Array.from({ length: 60 }, random)], { seed });
      return interval!.low <= 0.5 && 0.5 <= interval!.high;
    }).filter(Boolean).length;
    expect(held).toBeGreaterThan(180);
    expect(held).toBeLessThan(200);
  });
  test("a higher confidence is a wider interval", () => {
    const values = Float64Array.from({ length: 100 }, (_, i) => i % 7);
    const [narrow] = bootstrapMeans([values], { seed: 1, confidence: 0.8 });
    const [wide] = bootstrapMeans([values], { seed: 1, confidence: 0.999 });
    expect(wide!.low).toBeLessThan(narrow!.low);
    expect(wide!.high).toBeGreaterThan(narrow!.high);
  });
  test("the same seed gives the same interval", () => {
    const values = Float64Array.from({ length: 40 }, seededRandom(9));
    expect(bootstrapMeans([values], { seed: 3 })).toEqual(bootstrapMeans([values], { seed: 3 }));
    expect(bootstrapMeans([values], { seed: 3 })).not.toEqual(bootstrapMeans([values], { seed: 4 }));
  });
  test("of nobody: not a number; of one user: that user's value", () => {
    expect(bootstrapMeans([new Float64Array(0)], { seed: 1 })[0]!.value).toBeNaN();
    expect(bootstrapMeans([Float64Array.of(2)], { seed: 1 })).toEqual([{ value: 2, low: 2, high: 2 }]);
  });
});

test("a difference is paired: equal but for a constant leaves no doubt", () => {
  const a = Float64Array.from({ length: 50 }, (_, i) => i);
  const difference = pairedDifference(
    a,
    a.map((value) => value - 0.25),
    { seed: 1 },
  );
  expect(difference).toEqual({ value: 0.25, low: 0.25, high: 0.25 });
});
test("mean of 1 2 6 is 3", () => expect(mean([1, 2, 6])).toBe(3));
