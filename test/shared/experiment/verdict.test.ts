import { describe, expect, test } from "vitest";
import {
  type ArmCount,
  hasRatioMismatch,
  liftOf,
  rateOf,
  usersToDetect,
  verdictOf,
} from "../../../shared/experiment/verdict.ts";
import { normal, seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";

const DAYS = 28;
const random = seededRandom(1, 2);

/** Users of a day who reach the goal: the normal distribution is close enough for hundreds of users. */
const reachedOf = (users: number, rate: number) =>
  Math.max(0, Math.min(users, Math.round(users * rate + Math.sqrt(users * rate * (1 - rate)) * normal(random))));

/** The first verdict of somebody who looks every day, and the day of it. */
function watched(users: number, rates: readonly [number, number], comparisons = 1) {
  let [first, arm]: ArmCount[] = [
    { exposed: 0, reached: 0 },
    { exposed: 0, reached: 0 },
  ];
  for (let day = 1; day <= DAYS; day++) {
    first = { exposed: first!.exposed + users, reached: first!.reached + reachedOf(users, rates[0]) };
    arm = { exposed: arm!.exposed + users, reached: arm!.reached + reachedOf(users, rates[1]) };
    const verdict = verdictOf(liftOf(first, arm, comparisons), undefined);
    if (verdict === "better" || verdict === "worse") return { verdict, day };
  }
  return { verdict: "running", day: DAYS };
}

describe("looked at every day", () => {
  test.each([
    [400, 0.05],
    [200, 0.02],
    [1000, 0.3],
  ])(
    "at most 5 %% of 2,000 experiments between the same lists end with a difference (%i users a day, rate %d)",
    (users, rate) => {
      const wrong = Array.from({ length: 2000 }, () => watched(users, [rate, rate])).filter(
        (one) => one.verdict !== "running",
      );
      expect(wrong.length).toBeLessThan(100);
    },
  );
  test("a lift of a fifth is found, in the right direction", () => {
    const found = Array.from({ length: 200 }, () => watched(1000, [0.1, 0.12]));
    expect(found.filter(({ verdict }) => verdict === "better").length).toBeGreaterThan(190);
    const lost = Array.from({ length: 200 }, () => watched(1000, [0.12, 0.1]));
    expect(lost.filter(({ verdict }) => verdict === "worse").length).toBeGreaterThan(190);
  });
  test("as many users as foretold detect 5 % in more than half of the experiments", () => {
    const users = usersToDetect({ exposed: 1000, reached: 200 }, 1)! + 1000;
    const found = Array.from({ length: 400 }, () => watched(Math.ceil(users / DAYS), [0.2, 0.21]));
    const share = found.filter(({ verdict }) => verdict === "better").length / 400;
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.95);
  });
});

test("the interval contains the lift, and narrows with the users", () => {
  const of = (n: number) =>
    liftOf({ exposed: 1000 * n, reached: 100 * n }, { exposed: 1000 * n, reached: 120 * n }, 1)!;
  expect(of(1).value).toBeCloseTo(0.2);
  for (const n of [1, 10, 100]) {
    expect(of(n).low).toBeLessThan(0.2);
    expect(of(n).high).toBeGreaterThan(0.2);
    expect(of(10 * n).high - of(10 * n).low).toBeLessThan((of(n).high - of(n).low) / 2);
  }
  const shared = liftOf({ exposed: 1000, reached: 100 }, { exposed: 1000, reached: 120 }, 4)!;
  expect(shared.high).toBeGreaterThan(of(1).high);
});
test("few users have no lift, and nobody no rate", () => {
  expect(liftOf({ exposed: 1000, reached: 24 }, { exposed: 1000, reached: 90 }, 1)).toBeUndefined();
  expect(usersToDetect({ exposed: 1000, reached: 24 }, 1)).toBeNull();
  expect(rateOf({ exposed: 0, reached: 0 })).toBe(0);
});
test("equal rates of many users are no difference", () => {
  const many = { exposed: 1e6, reached: 2e5 };
  expect(verdictOf(liftOf(many, many, 1), undefined)).toBe("no_difference");
});
test("an arm that harms the guard is worse, whatever else it gains", () => {
  const gain = { value: 0.5, low: 0.4, high: 0.6 };
  expect(verdictOf(gain, { value: -0.2, low: -0.3, high: -0.1 })).toBe("worse");
  expect(verdictOf(gain, { value: -0.2, low: -0.3, high: 0.1 })).toBe("better");
  expect(verdictOf(undefined, undefined)).toBe("running");
});

test("a splitter that gives 52 % in place of 50 % is caught, and chance is not", () => {
  expect(hasRatioMismatch([5200, 4800], [5000, 5000])).toBe(true);
  expect(hasRatioMismatch([5080, 4920], [5000, 5000])).toBe(false);
  expect(hasRatioMismatch([3, 0], [1.5, 1.5])).toBe(false);
  expect(hasRatioMismatch([1000, 1000, 1300], [1100, 1100, 1100])).toBe(true);
});
