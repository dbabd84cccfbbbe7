import { expect, test } from "vitest";
import { wilsonInterval } from "../../../../trainer/choose/evaluate/wilson.ts";

/** Agresti and Coull (1998), and R's prop.test without correction. */
test.each([
  [0, 10, 0, 0.27753],
  [10, 10, 0.72247, 1],
  [1, 3, 0.06149, 0.79234],
  [50, 100, 0.40383, 0.59617],
  [15, 1000, 0.00911, 0.02461],
])("%i of %i is between %f and %f", (successes, trials, low, high) => {
  const interval = wilsonInterval(successes, trials);
  expect(interval.share).toBe(successes / trials);
  expect(interval.low).toBeCloseTo(low, 4);
  expect(interval.high).toBeCloseTo(high, 4);
});
