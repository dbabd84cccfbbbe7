import { beforeEach, expect, test } from "vitest";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import { validationOf } from "../../../../trainer/choose/splits/validation.ts";
import { runTrial } from "../../../../trainer/choose/tries/trial.ts";
import { type SelectState, scaled, tryMethods } from "../../../../trainer/choose/tries/try-methods.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { TRIAL_CONTEXT } from "../../../fixtures/trial-context.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 60, items: 20, perUser: 4 });
const validation = validationOf(shop, planSplit(shop, { protocol: "next-item", seed: 1, includeSeen: false }), 0, 1);
const context = TRIAL_CONTEXT;
let order: string[];
beforeEach(() => {
  order = [];
});
/** Popularity under a name, at a price. */
const named = (name: string, seconds: number, memoryMb = 1): Method => ({
  name,
  grid: () => [{ lambda: 1 }, { lambda: 2 }, { lambda: 3 }],
  cost: () => ({ seconds, memoryMb }),
  fit: async ({ itemCount }, params, { memoryMbMax }) => {
    order.push(`${name} ${params.lambda} ${memoryMbMax}`);
    const bias = Float32Array.from({ length: itemCount }, (_, item) => itemCount - item);
    return fittedLinear(name, params, { itemCount, terms: [], bias });
  },
});
const stateOf = async (methods: Method[], changes: Partial<SelectState> = {}): Promise<SelectState> => {
  const { train: data, split, positions } = validation;
  const task = { data, cases: split.cases, positions, trainFraction: 1, secondsMax: 9, secondsHard: 900 };
  return {
    methods: Object.fromEntries(methods.map((method) => [method.name, method])),
    live: undefined,
    context,
    metric: "ndcg@10",
    validation,
    baseline: await runTrial({ method: popularity as Method, params: { halfLifeDays: 0 } }, task, context),
    secondsMax: changes.secondsLeft?.() ?? 1000,
    secondsLeft: () => 1000,
    discarded: [],
    ...changes,
  };
};

test("cheap methods are tried first, two settings of each stay", async () => {
  const state = await stateOf([named("dear", 5), named("cheap", 1)]);
  const tried = await tryMethods(state);
  expect(order.map((line) => line.split(" ")[0])).toEqual(["cheap", "cheap", "cheap", "dear", "dear", "dear"]);
  expect(tried.map(({ method }) => method.name).sort()).toEqual(["cheap", "cheap", "dear", "dear"]);
  expect(state.discarded.length).toBe(2);
});
test("popularity is not tried again", async () => {
  expect(await tryMethods(await stateOf([popularity as Method]))).toEqual([]);
});
test("a method that could not be fitted once more is left out, with what it needs and what there is", async () => {
  const state = await stateOf([named("dear", 60)], { secondsLeft: () => 100 });
  expect(await tryMethods(state)).toEqual([]);
  expect(state.discarded[0]!.reason).toBe("needs about 60 s to fit and evaluate, and 33 s are left for it");
});
test("where an even share is too little for any method, the cheaper ones are tried rather than none", async () => {
  const methods = [named("a", 20), named("b", 21), named("c", 34), named("d", 34)];
  await tryMethods(await stateOf(methods, { secondsLeft: () => 75 })); // a quarter would be 19
  expect([...new Set(order.map((line) => line.split(" ")[0]))]).toEqual(["a", "b"]);
});
/** A method whose third setting costs little; the others cost `dear` seconds. Its first item is `good` to all users, or to none. */
const withScout = (name: string, dear: number, cheap: number, good = true): Method => ({
  ...named(name, dear),
  cost: (_, { lambda }) => ({ seconds: lambda === 3 ? cheap : dear, memoryMb: 1 }),
  fit: async ({ itemCount }, params) => {
    order.push(`${name} ${params.lambda}`);
    const bias = Float32Array.from({ length: itemCount }, (_, item) => (good ? itemCount - item : item));
    return fittedLinear(name, params, { itemCount, terms: [], bias });
  },
});
test("of a method too dear for its part, the cheapest setting comes before everything else, and once", async () => {
  await tryMethods(await stateOf([named("a", 20), withScout("dear", 300, 2, false)], { secondsLeft: () => 90 }));
  expect(order.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(["dear 3", "a 1", "a 2"]);
});
test("not where the best guess has time enough, nor where the cheapest takes a sixth of all time", async () => {
  await tryMethods(await stateOf([named("a", 1), withScout("b", 10, 2)], { secondsLeft: () => 90 }));
  expect(order[0]).toMatch(/^a/);
  order = [];
  await tryMethods(await stateOf([named("a", 1), withScout("b", 50, 16)], { secondsLeft: () => 90 }));
  expect(order[0]).toMatch(/^a/);
});
test("nor where the cheapest costs hardly less than the best guess", async () => {
  const others = ["a", "c", "d", "e", "f"].map((name) => named(name, 1));
  await tryMethods(await stateOf([...others, withScout("b", 20, 12)], { secondsLeft: () => 90 }));
  expect(order[0]).toMatch(/^a/);
});
/** A method of one setting after the other, each of so many seconds by the clock of `running`. */
const ticking = (name: string, grid: number[], seconds: { predicted: number; taken: number }, good = true) => {
  let now = 0;
  const method: Method = {
    ...named(name, seconds.predicted),
    grid: () => grid.map((lambda) => ({ lambda })),
    fit: async ({ itemCount }, params) => {
      order.push(`${name} ${params.lambda}`);
      now += seconds.taken;
      const bias = Float32Array.from({ length: itemCount }, (_, item) => (good ? itemCount - item : item));
      return fittedLinear(name, params, { itemCount, terms: [], bias });
    },
  };
  return { method, seconds: () => now };
};
const running = async (parts: ReturnType<typeof ticking>[], secondsMax: number) => {
  const now = () => parts.reduce((sum, { seconds }) => sum + seconds(), 0);
  const changes = { context: { ...context, clock: now }, secondsLeft: () => secondsMax - now() };
  return await stateOf(
    parts.map(({ method }) => method),
    changes,
  );
};
test("what was left out of the best method is tried when the others have left time", async () => {
  const first = ticking("first", [1, 2, 3], { predicted: 10, taken: 2 });
  const state = await running([first, ticking("second", [1], { predicted: 20, taken: 1 })], 90);
  const tried = await tryMethods(state);
  // An even share of 45 s, a third of all: two settings at first.
  expect(order).toEqual(["first 1", "first 2", "second 1", "first 3"]);
  expect(state.discarded.filter(({ outcome }) => outcome === "left_out")).toEqual([]);
  expect(tried.length).toBe(4);
});
test("not of a method far behind the best, and not where the best could hardly be fitted again", async () => {
  const bad = ticking("bad", [1, 2, 3], { predicted: 10, taken: 2 }, false);
  await tryMethods(await running([bad, ticking("good", [1], { predicted: 20, taken: 1 })], 90));
  expect(order).toEqual(["bad 1", "bad 2", "good 1"]);
  order = [];
  const slow = ticking("slow", [1, 2, 3], { predicted: 10, taken: 15 });
  const state = await running([slow, ticking("other", [1], { predicted: 12, taken: 3 })], 90);
  await tryMethods(state);
  expect(order).toEqual(["slow 1", "slow 2", "other 1"]); // 57 s are left: half, less a fit
  expect(state.discarded.map(({ reason }) => reason)).toEqual([
    expect.stringMatching(/^needs about 15 s to fit and evaluate, and 14 s are left/),
  ]);
});
test("where no time was left for any, one is tried late: the live version, else the cheapest that can be", async () => {
  const none = { secondsMax: 90, secondsLeft: () => -5 };
  const methods = [named("large", 1, 400), named("cheap", 2), named("dear", 60)];
  const state = await stateOf(methods, none);
  expect((await tryMethods(state)).map(({ method }) => method.name)).toEqual(["cheap", "cheap"]);
  expect(order.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(["cheap 1", "cheap 2", "cheap 3"]);
  expect(state.discarded.map(({ method, outcome }) => `${method} ${outcome}`).sort()).toEqual(
    ["cheap dropped", ...Array(3).fill("dear left_out"), ...Array(3).fill("large left_out")].sort(),
  );
  order = [];
  const replacing = await stateOf(methods, { ...none, live: { method: "cheap", params: { lambda: 3 } } });
  await tryMethods(replacing);
  expect(replacing.discarded.some(({ method, params }) => method === "cheap" && params.lambda === 3)).toBe(false);
  expect(order.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(["cheap 3"]);
});
test("a sum of methods that are all far behind is left out, and told", async () => {
  const summing = (...parts: string[]): Method => ({ ...named("sum", 9), parts });
  const [good, bad] = [named("good", 1), withScout("bad", 2, 2, false)];
  const short = { metric: "ndcg@3", context: { ...context, cutOffs: [3] } } as const; // of longer lists of 20 items none is far behind
  const state = await stateOf([good, bad, summing("bad")], short);
  await tryMethods(state);
  expect(order.some((line) => line.startsWith("sum"))).toBe(false);
  const told = state.discarded.filter(({ method }) => method === "sum");
  expect(told.map(({ outcome, reason }) => [outcome, reason])).toEqual(
    Array(3).fill(["left_out", "left out: each method that this blend combines is far below the best"]),
  );
  for (const parts of [["bad", "good"], ["bad", "never tried"], []]) {
    order = [];
    await tryMethods(await stateOf([good, bad, summing(...parts)], short));
    expect(order.some((line) => line.startsWith("sum"))).toBe(true);
  }
});
test("fitted models beyond a third of the memory are let go, their served form stays", async () => {
  const tried = await tryMethods(await stateOf([named("large", 1, 150)])); // each held with 75 MB
  expect(tried.map(({ fitted }) => fitted !== undefined)).toEqual([true, false]);
  expect(tried[1]!.served.exported.graph.length).toBeGreaterThan(0);
});
test("what is held is not there for the next method", async () => {
  await tryMethods(await stateOf([named("first", 1, 100), named("second", 2, 100)]));
  expect(order.at(-1)).toBe("second 3 200");
});
test("the live version's settings are tried before all others, and not twice", async () => {
  const state = await stateOf([named("cheap", 1)], { live: { method: "cheap", params: { lambda: 2 } } });
  const tried = await tryMethods(state);
  expect(order.map((line) => line.split(" ")[1])).toEqual(["2", "1", "3"]);
  expect(tried.some(({ params }) => params.lambda === 2)).toBe(true);
});
test("progress of a part is progress of the whole", () => {
  const reported: number[] = [];
  scaled({ ...context, progress: (share) => reported.push(share) }, 0.5, 0.7).progress(0.5, "");
  expect(reported[0]).toBeCloseTo(0.6, 12);
});
