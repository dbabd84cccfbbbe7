/** Adjusting for what users did before an experiment, by simulation. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { armCountOf, type ExposureCount } from "../../../shared/experiment/counts.ts";
import { type ArmCount, activityLevel, liftOf, rateOf, verdictOf } from "../../../shared/experiment/verdict.ts";
import { normal, seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";

const DAYS = 28;
const random = seededRandom(3, 4);

/** How many users have an activity, and how many of these reach the goal in the first arm. */
type Level = { readonly share: number; readonly rate: number };
const LEVELS: readonly Level[] = [
  { share: 0.5, rate: 0.02 },
  { share: 0.3, rate: 0.1 },
  { share: 0.15, rate: 0.3 },
  { share: 0.05, rate: 0.6 },
];

const around = (mean: number, variance: number) => Math.max(0, Math.round(mean + Math.sqrt(variance) * normal(random)));
const count = (activity: number, exposed: number, reached: number): ExposureCount => ({
  ...{ arm: "a", revision: 0, from: 0, guarded: 0, activity, exposed, reached },
});
/** The counts of one more day of an arm, whose rates are `lift` times higher. */
function addDay(before: readonly ExposureCount[], users: number, lift: number): ExposureCount[] {
  return LEVELS.map(({ share, rate }, level) => {
    const exposed = around(users * share, users * share);
    const own = Math.min(1, rate * lift);
    const reached = Math.min(exposed, around(exposed * own, exposed * own * (1 - own)));
    return count(level, (before[level]?.exposed ?? 0) + exposed, (before[level]?.reached ?? 0) + reached);
  });
}
const withoutActivity = ({ exposed, reached }: ArmCount): ArmCount => ({ exposed, reached });

/** What somebody sees who looks every day, with and without the adjustment. */
function watched(users: number, lift: number) {
  let [first, arm]: ExposureCount[][] = [[], []];
  const seen = { adjusted: "running", plain: "running" };
  const removed: number[] = [];
  for (let day = 1; day <= DAYS; day++) {
    first = addDay(first!, users, 1);
    arm = addDay(arm!, users, lift);
    const [theirs, ours] = [armCountOf(first, "reached"), armCountOf(arm, "reached")];
    const adjusted = liftOf(theirs, ours, 1);
    if (adjusted) removed.push(adjusted.variance_removed);
    const plain = liftOf(withoutActivity(theirs), withoutActivity(ours), 1);
    for (const [name, found] of [["adjusted", adjusted] as const, ["plain", plain] as const]) {
      const verdict = verdictOf(found, undefined);
      if (seen[name] === "running" && verdict !== "no_difference") seen[name] = verdict;
    }
  }
  return { ...seen, removed: removed.at(-1)! };
}

describe("looked at every day", () => {
  test("at most 5 % of 2,000 experiments between the same lists end with a difference", () => {
    const all = Array.from({ length: 2000 }, () => watched(300, 1));
    expect(all.filter(({ adjusted }) => adjusted !== "running").length).toBeLessThan(100);
  });
  test("a fifth of the variance is gone, and a lift is found more often", () => {
    const all = Array.from({ length: 300 }, () => watched(300, 1.15));
    for (const { removed } of all) expect(removed).toBeGreaterThan(0.15);
    const found = (name: "adjusted" | "plain") => all.filter((one) => one[name] === "better").length;
    expect(found("adjusted")).toBeGreaterThan(found("plain") + 20);
    expect(all.filter(({ adjusted }) => adjusted === "worse").length).toBeLessThan(5);
  });
});

test("the adjustment takes away what the arms' users differ in, and nothing of what the lists change", () => {
  const [quiet, active] = [count(0, 5000, 100), count(3, 5000, 2500)];
  const luckier = [count(0, 4000, 80), count(3, 6000, 3000)]; // the same rates, but more active users
  const lift = liftOf(armCountOf([quiet, active], "reached"), armCountOf(luckier, "reached"), 1)!;
  expect(lift.value).toBeCloseTo(0, 2);
  const better = [count(0, 5000, 120), count(3, 5000, 3000)];
  expect(liftOf(armCountOf([quiet, active], "reached"), armCountOf(better, "reached"), 1)!.value).toBeCloseTo(0.2, 5);
});

test("without activity, or with the same of all users, nothing is adjusted", () => {
  const plain = liftOf({ exposed: 1000, reached: 100 }, { exposed: 1000, reached: 120 }, 1)!;
  expect(plain.variance_removed).toBe(0);
  for (const level of [0, 2]) {
    const of = (reached: number) => armCountOf([count(level, 1000, reached)], "reached");
    const lift = liftOf(of(100), of(120), 1)!;
    expect(lift.value).toBeCloseTo(plain.value, 10);
    expect(lift.high).toBeCloseTo(plain.high, 10);
  }
});

test("for any counts, the interval contains the value, and is never wider than without the adjustment", () => {
  const level = fc.record({ exposed: fc.nat(5000), of: fc.double({ min: 0, max: 1, noNaN: true }) });
  const arm = fc.array(level, { minLength: 1, maxLength: 8 }).map((levels) =>
    armCountOf(
      levels.map(({ exposed, of }, i) => count(i, exposed, Math.round(exposed * of))),
      "reached",
    ),
  );
  fc.assert(
    fc.property(arm, arm, (a, b) => {
      const lift = liftOf(a, b, 1);
      if (lift === undefined || rateOf(a) === 1 || rateOf(b) === 1) return;
      expect(lift.low).toBeLessThanOrEqual(lift.value);
      expect(lift.high).toBeGreaterThanOrEqual(lift.value);
      expect(lift.variance_removed).toBeGreaterThanOrEqual(0);
      expect(lift.variance_removed).toBeLessThanOrEqual(1);
    }),
  );
});

test("levels of activity are logarithmic", () => {
  expect([0, 1, 2, 3, 6, 7, 126, 127, 1e6].map(activityLevel)).toEqual([0, 1, 1, 2, 2, 3, 6, 7, 7]);
});
