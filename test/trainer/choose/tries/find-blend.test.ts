import { beforeAll, expect, test } from "vitest";
import { dropped } from "../../../../trainer/choose/tries/discarded.ts";
import { tryBlend } from "../../../../trainer/choose/tries/find-blend.ts";
import { addTrial, type SelectState } from "../../../../trainer/choose/tries/select-state.ts";
import { meanOf } from "../../../../trainer/choose/tries/trial.ts";
import { blendOf, blendParams, partsOf } from "../../../../trainer/learn/blends.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { selectState, trialIn } from "../../../fixtures/select-state.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 900, items: 40, perUser: 6 });
let wanted: Float32Array;
/** Scores items by how often they are validation targets, through noise of its own: two such know more than one. */
const noisy: Method = {
  name: "noisy",
  grid: () => [],
  cost: () => ({ seconds: 0, memoryMb: 1 }),
  fit: async (data, params) => {
    const random = seededRandom(params.seed!);
    const bias = wanted.map((count) => count + params.noise! * (random() - 0.5));
    return fittedLinear("noisy", params, { itemCount: data.itemCount, terms: [], bias });
  },
};
beforeAll(async () => {
  const { validation } = await selectState(shop, []);
  const { cases } = validation.split;
  wanted = new Float32Array(validation.train.itemCount);
  for (let at = 0; at < cases.count; at++) wanted[cases.caseAt(at).relevant[0]!]! += 1;
});
const stateOf = async (settings: readonly (readonly [seed: number, noise: number])[], changes = {}) => {
  const state = await selectState(shop, [noisy], changes);
  const again = (seed: number) => ({ ...noisy, name: `noisy${seed}` });
  const methods = Object.fromEntries(settings.map(([seed]) => [`noisy${seed}`, again(seed)]));
  for (const [seed, noise] of settings) addTrial(state, await trialIn(state, again(seed), { seed, noise }));
  return { ...state, methods };
};
const best = ({ tried }: SelectState) => tried[0]!;

test("models of independent noise are better together, and the blend can be fitted again from its settings", async () => {
  const state = await stateOf([
    [1, 60],
    [2, 60],
    [3, 60],
  ]);
  const alone = best(state);
  await tryBlend(state);
  const blend = best(state);
  expect(blend.method.name).toBe("blend");
  expect(meanOf(blend.evaluation, "ndcg@10")).toBeGreaterThan(1.003 * meanOf(alone.evaluation, "ndcg@10"));
  expect(partsOf(blend.params).length).toBeGreaterThan(1);
  const again = await trialIn(state, blend.method, blend.params);
  expect(meanOf(again.evaluation, "ndcg@10")).toBeCloseTo(meanOf(blend.evaluation, "ndcg@10"), 9);
});

test.each([
  ["on all users", 1, ["noisy1", "noisy2"]],
  ["on a sample", 0.5, undefined],
])("with a method that was dropped after a fit %s (%s of them), the best blend has the parts %s", async (...row) => {
  const [, trainFraction, parts] = row;
  const state = await stateOf([
    [1, 60],
    [2, 60],
  ]);
  const [second] = state.tried.splice(1);
  state.discarded.push({ ...dropped(second!, best(state), state.metric), trainFraction });
  await tryBlend(state);
  const { method, params } = best(state);
  const found = method.partMethods && partsOf(params).map((part) => part.method);
  expect(found?.sort()).toEqual(parts);
});

test("the search begins with the weights of the best trial when that is a blend", async () => {
  const state = await stateOf([
    [1, 60],
    [2, 60],
  ]);
  const parts = [1, 2].map((seed) => ({ method: `noisy${seed}`, params: { seed, noise: 60 }, share: 1 }));
  const sum = blendOf(state.methods, "sum");
  addTrial(state, await trialIn(state, sum, blendParams(parts)));
  await tryBlend(state);
  const found = state.tried.filter(({ method }) => method.partMethods).map(({ params }) => partsOf(params));
  expect(found[0]!.map(({ method }) => method).sort()).toEqual(["noisy1", "noisy2"]);
});
test("popularity in the last weeks is a part where it helps, though it was no candidate", async () => {
  const popularity: Method = {
    ...noisy,
    name: "popularity",
    fit: async (data, params) =>
      fittedLinear("popularity", params, { itemCount: data.itemCount, terms: [], bias: wanted }),
  };
  const state = await stateOf([[1, 400]]);
  await tryBlend({ ...state, methods: { ...state.methods, popularity } });
  expect(partsOf(best(state).params).map(({ method }) => method)).toContain("popularity");
});
test.each([
  [
    "there is nothing to add to a model that knows all",
    [
      [1, 0],
      [2, 400],
    ],
    {},
  ],
  ["a single model has nothing to be blended with", [[1, 60]], {}],
  [
    "time is up",
    [
      [1, 60],
      [2, 60],
    ],
    { secondsLeft: () => 0 },
  ],
] as const)("no blend is tried where %s", async (_, settings, changes) => {
  let now = 0;
  const state = await stateOf(settings, { ...changes, context: { clock: () => now++ } });
  await tryBlend(state);
  expect(state.tried.map(({ method }) => method.name)).not.toContain("blend");
});
test("parts that could not all be fitted again in time are not blended", async () => {
  const state = await stateOf([
    [1, 60],
    [2, 60],
  ]);
  const parts = { ...state.context.parts, secondsAlone: () => 500 };
  await tryBlend({ ...state, context: { ...state.context, parts } });
  expect(state.tried.map(({ method }) => method.name)).not.toContain("blend");
});
test("where the memory holds one model only, no list is scored", async () => {
  let [asked, scored] = [0, 0];
  const state = await stateOf([
    [1, 60],
    [2, 60],
  ]);
  const memoryMbFree = () => (asked++ === 0 ? 100 : 0);
  const progress = () => scored++;
  await tryBlend({ ...state, context: { ...state.context, memoryMbFree, progress } });
  expect(asked).toBe(2);
  expect(scored).toBe(0);
  expect(state.tried.map(({ method }) => method.name)).not.toContain("blend");
});
test("a network that was cut short is no part", async () => {
  let now = 0;
  const state = await selectState(shop, [], { context: { clock: () => now } });
  const named = (seed: number): Method => ({ ...noisy, name: `noisy${seed}` });
  const network: Method = {
    ...named(3),
    fillsItsTime: true,
    fit: (data, params, context) => {
      now += context.secondsMax;
      return noisy.fit(data, params, context);
    },
  };
  const methods = Object.fromEntries([named(1), named(2), network].map((method) => [method.name, method]));
  for (const [i, method] of Object.values(methods).entries()) {
    addTrial(state, await trialIn(state, method, { seed: i + 1, noise: 60 }));
  }
  await tryBlend({ ...state, methods });
  const found = state.tried.filter(({ method }) => method.partMethods).flatMap(({ params }) => partsOf(params));
  expect(found.map(({ method }) => method).sort()).toEqual(["noisy1", "noisy2"]);
});
