import fc from "fast-check";
import { expect, test } from "vitest";
import { guessLabel, labelFacts } from "../../shared/guess-label.ts";

const check = (values: unknown[], expected: number | "Binary") => {
  const label = guessLabel("label", labelFacts(values));
  expect(label.type === "Rating" ? label.positive_from : label.type).toBe(expected);
};

test.each([[[0, 1, 1]], [[0, 0]], [[1]], [[true, false]], [["yes", "no"]], [[null, "", 1]], [[]]])(
  "%j says yes and no",
  (values) => check(values, "Binary"),
);
test("dislikes are not likes", () => {
  check([-1, -1, -1, 1], 1);
  check([-1, 1, 1, 1], 1);
  check([-1, 0, 0, 0, 1], 1);
  check([-1, -1], 1);
});
test("counts are positive above 0", () => {
  check([0, 0, 0, 2], 1);
  check([0, 0, 0, 0.5, 2], 0.5);
});
test("the boundary of ratings lies above the lowest one", () => {
  check([1, 1, 1, 5], 5);
  check([1, 2, 3, 4, 5], 3);
  check([5, 1, 4], 4);
  check([0, 7, 8, 9, 10], 8);
});
test("a single rating is positive", () => check([5, 5], 5));
test("numbers that are not finite do not count", () => check([Number.NaN, 1, 5, 5, Number.POSITIVE_INFINITY], 5));

test("some rows are positive, and the lowest ones are not, for any numbers with two values", () => {
  const numbers = fc.array(fc.integer({ min: -5, max: 10 }), { minLength: 2 });
  fc.assert(
    fc.property(numbers, (values) => {
      const [lowest, highest] = [Math.min(...values), Math.max(...values)];
      const label = guessLabel("label", labelFacts(values));
      fc.pre(lowest < highest && highest > 0 && label.type === "Rating");
      const bar = (label as { positive_from: number }).positive_from;
      expect(bar).toBeGreaterThan(lowest);
      expect(bar).toBeLessThanOrEqual(highest);
    }),
  );
});
