import { expect, test } from "vitest";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { separability, separabilityBy } from "./separability.ts";

test("is the share of pairs in order, ties counting half", () => {
  expect(separability([1, 2], [3, 4])).toBe(1);
  expect(separability([3, 4], [1, 2])).toBe(0);
  expect(separability([1, 1], [1, 1])).toBe(0.5);
  expect(separability([1, 3], [2, 3])).toBe((1 + 1 + 0 + 0.5) / 4);
});

test("of one distribution it is a half within its interval; of a shifted one it is not", () => {
  const random = seededRandom(3);
  const draw = (shift: number) => Array.from({ length: 2000 }, () => random() + shift);
  expect(Math.abs(separability(draw(0), draw(0)) - 0.5)).toBeLessThan(2 * separabilityBy(2000, 2000));
  expect(separability(draw(0), draw(0.2))).toBeGreaterThan(0.6);
});
