import { beforeAll, describe, expect, test } from "vitest";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import { validationOf } from "../../../../trainer/choose/splits/validation.ts";
import { partsOf } from "../../../../trainer/choose/tries/blend-method.ts";
import { findBlend, unsearched } from "../../../../trainer/choose/tries/find-blend.ts";
import { meanOf, runTrial, type Trial } from "../../../../trainer/choose/tries/trial.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { TRIAL_CONTEXT } from "../../../fixtures/trial-context.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 300, items: 40, perUser: 6 });
const plan = planSplit(shop, { protocol: "next-item", seed: 1, includeSeen: false });
const validation = validationOf(shop, plan, 0, 1);
const context = { ...TRIAL_CONTEXT, memoryMbMax: 1000 };
/** Scores items by how often they are validation targets, through noise of its own: two such know more than one. */
const noisy: Method = {
  name: "noisy",
  grid: () => [],
  cost: () => ({ seconds: 0, memoryMb: 1 }),
  fit: async (data, params) => {
    const random = seededRandom(params.seed!);
    const wanted = new Float32Array(data.itemCount);
    const { cases } = validation.split;
    for (let at = 0; at < cases.count; at++) wanted[cases.caseAt(at).relevant[0]!]! += 1;
    const bias = wanted.map((count) => count + params.noise! * (random() - 0.5));
    return fittedLinear("noisy", params, { itemCount: data.itemCount, terms: [], bias });
  },
};
const { cases } = validation.split;
const positions = validation.earlyPositions;
const trialOf = (seed: number, noise: number) =>
  runTrial(
    { method: noisy, params: { seed, noise } },
    { data: validation.train, cases, positions, trainFraction: 1, secondsMax: 9, secondsHard: 900 },
    context,
  );
const find = (trials: readonly Trial[], deadline = 1, fitSecondsMax = 100) =>
  findBlend({ trials, methods: { noisy }, validation, metric: "ndcg@10", deadline, fitSecondsMax }, context);

describe("three models of independent noise", () => {
  let trials: Trial[];
  beforeAll(async () => {
    trials = await Promise.all([1, 2, 3].map((seed) => trialOf(seed, 20)));
    trials.sort((a, b) => meanOf(b.evaluation, "ndcg@10") - meanOf(a.evaluation, "ndcg@10"));
  });
  test("a live blend is no part of another blend", async () => {
    const live = { ...trials[0]!, method: { ...noisy, name: "blend" } };
    const blend = await find([live, ...trials.slice(1)]);
    expect(blend ? partsOf(blend.params).map(({ method }) => method) : []).not.toContain("blend");
  });
  test("are better together, and the blend can be fitted again from its settings", async () => {
    const blend = (await find(trials))!;
    expect(meanOf(blend.evaluation, "ndcg@10")).toBeGreaterThan(1.005 * meanOf(trials[0]!.evaluation, "ndcg@10"));
    expect(blend.method.name).toBe("blend");
    expect(partsOf(blend.params)[0]).toMatchObject({ method: "noisy", params: trials[0]!.params, share: 1 });
    const task = { data: validation.train, cases, positions, trainFraction: 1, secondsMax: 9, secondsHard: 900 };
    const again = await runTrial({ method: blend.method, params: blend.params }, task, context);
    expect(meanOf(again.evaluation, "ndcg@10")).toBeCloseTo(meanOf(blend.evaluation, "ndcg@10"), 9);
  });
  test("when time is up there is none", async () => expect(await find(trials, 0)).toBeUndefined());
  test("no blend if its evaluation would take too long", async () => {
    const slow = trials.map((trial) => ({ ...trial, secondsPerList: 0.5 }));
    const lists = Math.min(1000, positions.length);
    expect(await find(slow, 0.5 * 3 * positions.length + 0.5 * 2 * lists - 1)).toBeUndefined();
    expect(await find(slow, 0.5 * 3 * positions.length + 0.5 * 3 * lists + 1)).toBeDefined();
  });
  test("no blend of more parts than can be fitted again together", async () => {
    const long = trials.map((trial) => ({ ...trial, fitSeconds: 10 }));
    expect(await find(long, 1, 19)).toBeUndefined();
    expect(partsOf((await find(long, 1, 20))!.params).length).toBe(2);
    expect(partsOf((await find(long, 1, 30))!.params).length).toBe(3);
  });
  test("trials whose fitted model was released cannot be parts", async () =>
    expect(await find(trials.map((trial) => ({ ...trial, fitted: undefined })))).toBeUndefined());
});
test("no blend for a gain of less than half a percent", async () => {
  const pair = await Promise.all([trialOf(1, 4), trialOf(1, 4.2)]);
  expect(await find(pair)).toBeUndefined();
});
test("no blend of the best with its copy", async () => {
  const one = await trialOf(1, 0);
  expect(await find([one, { ...one }])).toBeUndefined();
});
test("one model alone is no blend", async () => expect(await find([await trialOf(1, 0)])).toBeUndefined());

test("a blend is compared on cases that the search did not use, if there are enough", () => {
  const early = Uint32Array.of(2, 3, 5, 8, 9);
  expect(unsearched(early, Uint32Array.of(3, 8))).toEqual(Uint32Array.of(2, 5, 9));
  expect(unsearched(early, Uint32Array.of(3, 5, 8))).toEqual(early);
  expect(unsearched(early, early)).toEqual(early);
});
