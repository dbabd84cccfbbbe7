/** What an experiment shows whose shares change while edges know different plans for ten seconds, by simulation. */
import { expect, test } from "vitest";
import { divide } from "../../../shared/experiment/buckets.ts";
import type { ExposureCount } from "../../../shared/experiment/counts.ts";
import { experimentReport } from "../../../shared/experiment/report.ts";
import { armOf, type RunningExperiment } from "../../../shared/experiment/running.ts";
import { seededRandom } from "../../../trainer/learn/numerics/seeded-random.ts";

const EDGES = 5;
const SHOWN_WITHIN_S = 10;
/** When the shares change, in seconds. Arm c is added and removed. */
const CHANGES: readonly { readonly at: number; readonly shares: Readonly<Record<string, number>> }[] = [
  { at: 0, shares: { a: 0.9, b: 0.1 } },
  { at: 60, shares: { a: 0.5, b: 0.5 } },
  { at: 120, shares: { a: 0.4, b: 0.4, c: 0.2 } },
  { at: 180, shares: { a: 0.5, b: 0.5 } },
];
const SECONDS = 300;
const CALLS_PER_SECOND = 40;
const USERS = 6000;

/** The plans as the trainer writes them: an arm keeps its buckets as far as its share allows. */
function plansOf(salt: string): RunningExperiment[] {
  const plans: RunningExperiment[] = [];
  for (const [i, { shares }] of CHANGES.entries()) {
    const names = Object.keys(shares);
    const former = names.map((name) => plans[i - 1]?.arms.find((arm) => arm.name === name)?.buckets ?? []);
    const buckets = divide(Object.values(shares), former);
    plans.push({
      ...{ name: "changing", salt, goal: { type: "purchase", within_hours: 24 }, guard: null },
      started_at: new Date(0).toISOString(),
      arms: names.map((name, arm) => ({
        ...{ name, buckets: buckets[arm]!, version: null, scenario: null, strategy: null },
      })),
      revisions: CHANGES.slice(0, i + 1).map((change) => ({ ...change.shares })),
    });
  }
  return plans;
}

function simulate(seed: number) {
  const random = seededRandom(seed, 5);
  const plans = plansOf(`salt ${seed}`);
  const counted = new Map<string, { arm: string; revision: number }>(); // as in the shards: the first list counts
  const armsOfUser = new Map<string, Set<string>>();
  const learns = Array.from({ length: EDGES }, () => CHANGES.map(({ at }) => at + SHOWN_WITHIN_S * random()));
  for (let call = 0; call < SECONDS * CALLS_PER_SECOND; call++) {
    const user = `u${Math.floor(USERS * random())}`;
    const known = learns[Math.floor(EDGES * random())]!;
    const revision = Math.max(
      0,
      known.findLastIndex((at) => at <= call / CALLS_PER_SECOND),
    );
    const { name } = armOf(plans[revision]!, user)!;
    if (!counted.has(user)) counted.set(user, { arm: name, revision });
    armsOfUser.set(user, (armsOfUser.get(user) ?? new Set()).add(name));
  }
  const counts: ExposureCount[] = [...counted.values()].map((one) => ({
    ...{ ...one, from: 0, exposed: 1, reached: Number(random() < 0.2), guarded: 0 },
  }));
  return { counted, armsOfUser, report: experimentReport(plans.at(-1)!, counts, SECONDS * 1000) };
}

test("every user counts once, the shares that were in force are no mismatch, and the same lists no difference", () => {
  const all = Array.from({ length: 100 }, (_, seed) => simulate(seed));
  expect(all.filter(({ report }) => report.sample_ratio_mismatch).length).toBeLessThanOrEqual(1);
  expect(all.filter(({ report }) => ["better", "worse"].includes(report.verdict)).length).toBeLessThanOrEqual(5);
  for (const { report, counted } of all.slice(0, 10)) {
    const present = [...counted.values()].filter(({ arm }) => arm !== "c").length; // c was removed
    expect(report.arms.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(report.arms.reduce((sum, { exposed }) => sum + exposed, 0)).toBe(present);
  }
});

test("no more users see two arms than the changed shares must move", () => {
  // b grows by .4, c takes .2 and gives it back to a and b
  const { armsOfUser } = simulate(1);
  const moved = [...armsOfUser.values()].filter(({ size }) => size > 1).length / armsOfUser.size;
  expect(moved).toBeLessThan(0.4 + 0.2);
});

test("a splitter that ignores the changed shares is caught", () => {
  const [plan] = plansOf("fixed");
  const last = plansOf("fixed").at(-1)!;
  const counts: ExposureCount[] = Array.from({ length: USERS }, (_, user) => ({
    ...{ arm: armOf(plan!, `u${user}`)!.name, revision: 3, from: 0, exposed: 1, reached: 0, guarded: 0 },
  }));
  expect(experimentReport(last, counts, SECONDS * 1000).verdict).toBe("sample_ratio_mismatch");
});
