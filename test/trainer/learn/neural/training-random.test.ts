import { expect, test } from "vitest";
import { maskPool, trainingRandom } from "../../../../trainer/learn/neural/training-random.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";

const three = (random: () => number) => [random(), random(), random()];

test("every purpose, epoch and seed has its own stream, which begins the same each time", () => {
  const random = trainingRandom(5);
  const draws = [
    three(random.of("held_out")),
    three(random.of("parameters")),
    three(random.of("masks")),
    three(random.ofBatches(0)),
    three(random.ofBatches(1)),
    three(random.ofSteps),
    three(trainingRandom(6).of("parameters")),
  ].map(String);
  expect(new Set(draws).size).toBe(draws.length);
  expect(three(random.of("masks"))).toEqual(three(trainingRandom(5).of("masks")));
  random.beginEpoch(0);
  expect(String(three(random.ofSteps))).toBe(draws[5]);
  random.beginEpoch(1);
  expect(draws).not.toContain(String(three(random.ofSteps)));
});

const poolOf = (rate: number, sizeMax: number) =>
  maskPool(rate, { sizeMax, random: seededRandom(1), places: seededRandom(2) });

test("a mask drops the given fraction and keeps the expected value", () => {
  const mask = poolOf(0.2, 100_000)(100_000);
  const dropped = mask.filter((factor) => factor === 0).length / mask.length;
  expect(dropped).toBeCloseTo(0.2, 1);
  expect(mask.reduce((sum, factor) => sum + factor, 0) / mask.length).toBeCloseTo(1, 1);
  expect(new Set(mask)).toEqual(new Set([0, 1.25]));
});

test("two masks of a pool differ, and two pools of one seed give the same masks", () => {
  const [once, again] = [poolOf(0.5, 64), poolOf(0.5, 64)];
  const first = once(64);
  expect(once(64)).not.toEqual(first);
  expect(again(64)).toEqual(first);
});
