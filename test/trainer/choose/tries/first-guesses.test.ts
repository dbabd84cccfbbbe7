import { beforeEach, describe, expect, test } from "vitest";
import { tryFirstGuesses } from "../../../../trainer/choose/tries/first-guesses.ts";
import { type SelectState, withinLimits } from "../../../../trainer/choose/tries/select-state.ts";
import type { TrialContext } from "../../../../trainer/choose/tries/trial.ts";
import { blendOf } from "../../../../trainer/learn/blends.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method, Params } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { selectState } from "../../../fixtures/select-state.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 60, items: 20, perUser: 4 });
let order: string[];
let given: number[];
let now = 0;
beforeEach(() => {
  order = [];
  given = [];
  now = 0;
});
/** Popularity under a name, at a price; with `slowness`, a fit takes so many times longer than predicted. */
const named = (
  name: string,
  seconds: number | ((params: Params) => number),
  more: Partial<Method> = {},
  slowness = 0,
) => {
  const secondsOf = (params: Params) => (typeof seconds === "number" ? seconds : seconds(params));
  const method: Method = {
    name,
    grid: () => [{ lambda: 1 }, { lambda: 2 }, { lambda: 3 }],
    cost: (_, params) => ({ seconds: secondsOf(params), memoryMb: 1 }),
    fit: async ({ itemCount }, params, { secondsMax }) => {
      order.push(`${name} ${params.lambda}`);
      given.push(secondsMax);
      now += slowness * secondsOf(params);
      const bias = Float32Array.from({ length: itemCount }, (_, item) => itemCount - item);
      return fittedLinear(name, params, { itemCount, terms: [], bias });
    },
    ...more,
  };
  return method;
};
type Changes = Partial<Pick<SelectState, "live" | "tooLarge">> & Pick<TrialContext, "memoryMbFree">;
const tryIn = async (secondsMax: number, methods: Method[], changes: Changes = {}) => {
  const { memoryMbFree, ...rest } = changes;
  const clock = { context: { clock: () => now, memoryMbFree }, secondsLeft: () => secondsMax - now };
  const state = await selectState(shop, methods, { ...clock, ...rest });
  await tryFirstGuesses(state);
  return state;
};

test("the best guess of every method but popularity is tried, the cheapest first", async () => {
  const { tried, discarded } = await tryIn(100, [named("dear", 5), named("cheap", 1), popularity as Method]);
  expect(order).toEqual(["cheap 1", "dear 1"]);
  expect([tried.length, discarded.length]).toEqual([2, 0]);
});
test("what takes more than its part of the time is left out, with what it needs and what there is", async () => {
  const { tried, discarded } = await tryIn(100, [named("dear", 75), named("cheap", 1)]);
  expect(tried.map(({ method }) => method.name)).toEqual(["cheap"]);
  const reason = "needs about 75 s to fit, which may take 70 s of the 100 s left";
  expect(discarded.map((one) => [one.method, one.outcome, one.reason])).toEqual(
    Array(3).fill(["dear", "left_out", reason]),
  );
});
test("a closed form leaves time for a network, unless none fits", async () => {
  const triedWith = async (secondsOfNetwork: number) => {
    const network = named("network", secondsOfNetwork, { fillsItsTime: true });
    const { tried } = await tryIn(100, [named("dear", 50), network]);
    return tried.map(({ method }) => method.name);
  };
  expect(await triedWith(40)).toEqual(["network"]);
  expect(await triedWith(50)).toEqual(["dear"]);
});
test("a blend of fitted parts is left out if they could not be fitted on all data in time", async () => {
  const [a, b] = [named("a", 30, {}, 1), named("b", 28, {}, 1)];
  const parts = ["a", "b"].map((method) => ({ method, params: { lambda: 1 }, share: 1 }));
  const { tried, discarded } = await tryIn(100, [a, b, blendOf({ a, b }, "sum", () => [parts])]);
  expect(tried.map(({ method }) => method.name).sort()).toEqual(["a", "b"]);
  expect(discarded).toMatchObject([
    { method: "sum", reason: "needs about 73 s for the final fit on all data, which may take 67 s" },
  ]);
});
test.each([
  ["a method that ranks better was tried", 1, undefined, ["ridge"]],
  ["no such method fits", 300, undefined, ["factors"]],
  ["it is the live version's", 1, { method: "factors", params: { lambda: 2 } }, ["factors", "ridge"]],
])("where %s, a stand-in is tried accordingly", async (_, secondsOfRidge, live, expected) => {
  const factors = named("factors", 0.5, { standsInFor: () => ["ridge"] });
  const { tried, discarded } = await tryIn(100, [factors, named("ridge", secondsOfRidge)], { live });
  expect(tried.map(({ method }) => method.name).sort()).toEqual(expected);
  const reasons = discarded.filter(({ method }) => method === "factors").map(({ reason }) => reason);
  expect(reasons).toEqual(secondsOfRidge === 1 ? ["left out: it stands in for ridge, which was tried"] : []);
});
test("where the best guess of a method does not fit, its next setting that does is tried", async () => {
  await tryIn(100, [named("dear", ({ lambda }) => (lambda === 1 ? 300 : 20)), named("cheap", 1)]);
  expect(order).toEqual(["cheap 1", "dear 2"]);
});
test("what needs more memory than the process has left is left out, with both figures", async () => {
  const large = named("large", 1, { cost: () => ({ seconds: 1, memoryMb: 40 }) });
  const { tried, discarded } = await tryIn(100, [large, named("small", 1)], { memoryMbFree: () => 39 });
  expect(tried.map(({ method }) => method.name)).toEqual(["small"]);
  expect(discarded[0]).toMatchObject({
    method: "large",
    reason: "needs about 40 MB of memory to fit, and may use 39 MB",
  });
});
test.each([
  [29, { lambda: 1, kept: 5 }, "smaller settings were tried instead"],
  [19, undefined, "may use 19 MB"],
])("with %i MB free, smaller settings are tried if they fit", async (free, params, reason) => {
  const large = named("large", 1, {
    grid: () => [{ lambda: 1 }],
    cost: (_, { kept }) => ({ seconds: 1, memoryMb: kept ? 20 : 40 }),
    smaller: (given) => (given.kept ? undefined : { ...given, kept: 5 }),
  });
  const parts = [{ method: "large", params: { lambda: 1 }, share: 1 }];
  const methods = [large, named("small", 1), blendOf({ large }, "sum", () => [parts])];
  const { tried, discarded } = await tryIn(100, methods, { memoryMbFree: () => free });
  expect(tried.find(({ method }) => method.name === "large")?.params).toEqual(params);
  expect(tried.some(({ method }) => method.name === "sum")).toBe(params !== undefined);
  expect(discarded[0]).toMatchObject({ method: "large", params: { lambda: 1 }, outcome: "left_out" });
  expect(discarded[0]!.reason).toContain(reason);
});
test("smaller settings are tried where only they fit the time", async () => {
  const large = named("large", ({ kept }) => (kept ? 20 : 80), {
    grid: () => [{ lambda: 1 }],
    smaller: (given) => (given.kept ? undefined : { ...given, kept: 5 }),
  });
  const { tried, discarded } = await tryIn(100, [large]);
  expect(tried.map(({ params }) => params)).toEqual([{ lambda: 1, kept: 5 }]);
  expect(discarded.map(({ reason }) => reason)).toEqual([
    "needs about 80 s to fit, which may take 70 s of the 100 s left; smaller settings were tried instead",
  ]);
});
test("that smaller settings were tried is said once for each method", async () => {
  const large = named("large", 1, {
    cost: (_, { kept }) => ({ seconds: 1, memoryMb: kept ? 20 : 40 }),
    smaller: (given) => ({ ...given, kept: 5 }),
  });
  const state = await tryIn(100, [large], { memoryMbFree: () => 29 });
  for (const lambda of [2, 3])
    expect(withinLimits(state, { method: large, params: { lambda } }).candidate.params).toEqual({ lambda, kept: 5 });
  expect(state.discarded.map(({ reason }) => reason).filter((reason) => reason.includes("instead"))).toHaveLength(1);
});
test("a method that an earlier attempt exceeded its memory with is not tried, alone or in a blend", async () => {
  const [a, b] = [named("a", 1), named("b", 1)];
  const parts = ["a", "b"].map((method) => ({ method, params: { lambda: 1 }, share: 1 }));
  const { tried, discarded } = await tryIn(100, [a, b, blendOf({ a, b }, "sum", () => [parts])], { tooLarge: ["a"] });
  expect(tried.map(({ method }) => method.name)).toEqual(["b"]);
  expect(order).toEqual(["b 1"]);
  const reason = "left out: an earlier attempt of this run exceeded its memory while it was tried";
  expect(discarded.map((one) => [one.method, one.reason])).toContainEqual(["a", reason]);
  expect(discarded.map((one) => [one.method, one.reason])).toContainEqual(["sum", reason]);
});
test("where nothing fits, the cheapest is tried late", async () => {
  const large = named("large", 1, { cost: () => ({ seconds: 1, memoryMb: 400 }) });
  const { tried } = await tryIn(10, [large, named("dear", ({ lambda }) => 60 - lambda!)]);
  expect(order).toEqual(["dear 3"]);
  expect(tried.length).toBe(1);
});
test("fits that fail late take the budget once more in all", async () => {
  const fails = (name: string) => {
    const fit: Method["fit"] = async () => {
      order.push(name);
      now += 60;
      throw new Error("it was stopped");
    };
    return named(name, 200, { fit });
  };
  const { tried } = await tryIn(100, [fails("a"), fails("b")]);
  expect([order.length, tried.length]).toEqual([2, 0]);
});
test("where not all best guesses fit, the cheapest settings of all methods come first, then the best guesses that fit", async () => {
  const cheapAt3 = (dear: number, cheap: number) => (params: Params) => (params.lambda === 3 ? cheap : dear);
  await tryIn(50, [named("a", 5), named("b", cheapAt3(30, 2)), named("c", cheapAt3(20, 1))]);
  expect(order).toEqual(["c 3", "b 3", "a 1", "c 1"]);
});
test("where time is short, a method that was not tried comes before further settings of another, unless they cost half", async () => {
  const cheapAt3 = (dear: number, cheap: number) => (params: Params) => (params.lambda === 3 ? cheap : dear);
  await tryIn(50, [named("a", cheapAt3(9, 1)), named("b", 10), named("c", cheapAt3(4, 2)), named("long", 70)]);
  expect(order).toEqual(["a 3", "c 3", "c 1", "b 1", "a 1"]);
});
test("parts are fitted once, and a blend of fitted parts comes before anything that must be fitted", async () => {
  const [a, b, c] = [named("a", 1), named("b", 30), named("c", 31)];
  const sum = blendOf({ a, b, c }, "sum", () => [
    [
      { method: "a", params: { lambda: 1 }, share: 1 },
      { method: "b", params: { lambda: 1 }, share: 0.5 },
    ],
  ]);
  const { tried, context } = await tryIn(200, [sum, a, b, c]);
  expect(order).toEqual(["a 1", "b 1", "c 1"]);
  expect(tried.map(({ method }) => method.name).sort()).toEqual(["a", "b", "c", "sum"]);
  const trial = tried.find(({ method }) => method.name === "sum")!;
  expect(context.parts.missing(trial)).toEqual([]);
});
test("on a machine half as fast the same kinds of models are tried, in the same order", async () => {
  const methods = (slowness: number) => [
    named("c", 8, {}, slowness),
    named("b", 5, {}, slowness),
    named("a", 4, {}, slowness),
  ];
  await tryIn(100, methods(1));
  const before = order.splice(0);
  now = 0;
  await tryIn(100, methods(2));
  expect([before, order]).toEqual([
    ["a 1", "b 1", "c 1"],
    ["a 1", "b 1", "c 1"],
  ]);
});
test("predictions follow the pace of earlier fits", async () => {
  const { discarded } = await tryIn(60, [named("a", 4, {}, 5), named("b", 10, {}, 5)]); // 20 s for 4, so 33 for 10
  expect(order).toEqual(["a 1"]);
  expect(discarded[0]!.reason).toMatch(/^needs about 33 s/);
});
describe("networks", () => {
  /** A network whose fit takes all of its time, and which needs at least `seconds`. */
  const network = (name: string, seconds: number, more: Partial<Method> = {}): Method => {
    const { fit: fitAtOnce, ...method } = named(name, seconds, {
      fillsItsTime: true,
      grid: () => [{ lambda: 1 }],
      ...more,
    });
    const fillingFit: Method["fit"] = async (data, params, context) => {
      now += context.secondsMax;
      return await fitAtOnce(data, params, context);
    };
    return { ...method, fit: fillingFit };
  };
  const unpopularFirst: Partial<Method> = {
    fit: async ({ itemCount }, params) =>
      fittedLinear("bad", params, {
        itemCount,
        terms: [],
        bias: Float32Array.from({ length: itemCount }, (_, i) => i),
      }),
  };

  test("come last, and leave time for other steps", async () => {
    const { tried, discarded } = await tryIn(100, [network("network", 2), named("closed", 30, {}, 1)]);
    expect(order).toEqual(["closed 1", "network 1"]);
    expect(given.at(-1)).toBeCloseTo(0.45 * 70, 9);
    expect([tried.length, discarded.length]).toEqual([2, 0]);
  });
  test("that read histories as the best closed forms do come first, the others only if that kind is near the best", async () => {
    const networks = [network("set", 1), network("sequence", 2, { reads: "sequence" })];
    await tryIn(100, [...networks, named("ridge", 1, { reads: "sequence" }), named("items", 1)]);
    expect(order.slice(2)).toEqual(["sequence 1", "set 1"]);
    order = [];
    const bad = { ...named("items", 1), ...unpopularFirst };
    const { discarded } = await tryIn(100, [...networks, named("ridge", 1, { reads: "sequence" }), bad]);
    expect(order).toEqual(["ridge 1", "sequence 1"]);
    expect(discarded).toMatchObject([{ method: "set", outcome: "left_out" }]);
  });
  test("are tried if no closed form reads histories as they do, and if they are the live version", async () => {
    await tryIn(100, [network("sequence", 2, { reads: "sequence" }), named("items", 1)]);
    expect(order).toEqual(["items 1", "sequence 1"]);
    order = [];
    const methods = [
      network("set", 1),
      named("ridge", 1, { reads: "sequence" }),
      { ...named("items", 1), ...unpopularFirst },
    ];
    await tryIn(100, methods, { live: { method: "set", params: { lambda: 1 } } });
    expect(order).toEqual(["ridge 1", "set 1"]);
  });
  test("come before closed forms of a kind that two others have shown to be far from the best, which get half of the rest", async () => {
    const bad = [1, 2, 5].map((seconds) => ({ ...named(`items ${seconds}`, seconds), ...unpopularFirst }));
    const better = [network("network", 20, { reads: "sequence" }), named("ridge", 3, { reads: "sequence" })];
    const stopped: number[] = [];
    const last = bad[2]!;
    const fit: Method["fit"] = async (data, params, context) => {
      stopped.push(context.secondsMax, order.length);
      return await last.fit(data, params, context);
    };
    const { tried } = await tryIn(100, [...bad.with(2, { ...last, fit }), ...better]);
    expect(order).toEqual(["ridge 1", "network 1"]);
    expect(stopped).toEqual([0.45 * (100 - now) * 0.5, 2]);
    expect(tried).toHaveLength(5);
  });
  test("come after the best guess of a kind whose cheaper settings rank far below the best", async () => {
    const goodAt1 = (name: string): Method => {
      const good = named(name, ({ lambda }) => (lambda === 3 ? 1 : 20), { reads: "sequence" });
      const fit: Method["fit"] = async (data, params, context) => {
        const model = await good.fit(data, params, context);
        return params.lambda === 1 ? model : await unpopularFirst.fit!(data, params, context);
      };
      return { ...good, fit };
    };
    await tryIn(45, [goodAt1("ridge"), goodAt1("local"), named("items", 5), network("network", 2)]);
    expect(order.slice(0, 4)).toEqual(["ridge 3", "items 1", "local 3", "ridge 1"]);
  });
  test("come after a closed form that reads sessions, whatever those rank like that read sequences", async () => {
    const bad = [1, 2].map((seconds) => ({
      ...named(`ridge ${seconds}`, seconds, { reads: "sequence" }),
      ...unpopularFirst,
    }));
    await tryIn(100, [...bad, named("items", 1), network("network", 2), named("walk", 3, { reads: "session" })]);
    expect(order).toEqual(["items 1", "walk 1", "network 1"]);
  });
  test("within the budget are never stopped, and on a machine half as fast the same models are tried and rank best", async () => {
    const triedWith = async (slowness: number) => {
      now = 0;
      const bad = { ...named("closed", 5, {}, slowness), ...unpopularFirst };
      const { tried, discarded } = await tryIn(100, [network("network", 20), bad, named("other", 5, {}, slowness)]);
      expect(discarded).toEqual([]);
      return tried.map(({ method }) => method.name);
    };
    expect(await triedWith(2)).toEqual(await triedWith(1));
  });
});
test("the live version's settings are tried once", async () => {
  await tryIn(100, [named("cheap", 1)], { live: { method: "cheap", params: { lambda: 1 } } });
  expect(order).toEqual(["cheap 1"]);
  await tryIn(100, [named("cheap", 1)], { live: { method: "cheap", params: { lambda: 2 } } });
  expect(order).toEqual(["cheap 1", "cheap 1", "cheap 2"]);
});
test("a failure is reported, the next setting is tried, and the others go on", async () => {
  const fit = () => Promise.reject(new Error("singular"));
  const { tried, discarded } = await tryIn(100, [named("bad", 1, { fit }), named("good", 2)]);
  expect(tried.map(({ method }) => method.name)).toEqual(["good"]);
  expect(discarded.map(({ outcome, reason }) => [outcome, reason])).toEqual(
    Array(3).fill(["failed", "failed: singular"]),
  );
});
