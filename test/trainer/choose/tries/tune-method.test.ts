import { describe, expect, test, vi } from "vitest";
import { casesOfSplit } from "../../../../trainer/choose/evaluate/evaluation-cases.ts";
import { meanOf } from "../../../../trainer/choose/tries/trial.ts";
import { tuneMethod, withSomeUsers } from "../../../../trainer/choose/tries/tune-method.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method, Params } from "../../../../trainer/learn/model.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { TRIAL_CONTEXT } from "../../../fixtures/trial-context.ts";

/** 3,000 users who all know item 0 and will choose item 1. */
const users = Array.from({ length: 3000 });
const data = trainingData(
  5,
  users.map(() => [0]),
);
const cases = casesOfSplit(
  data,
  trainingData(
    5,
    users.map(() => [1]),
  ),
);
const positions = Uint32Array.from({ length: 40 }, (_, i) => i * 7);
const context = { ...TRIAL_CONTEXT, cutOffs: [4], budget: { weightBytesMax: 1e6 }, memoryMbMax: 100 };
/** Item 1 comes at the place that the setting names. Fitting costs a second on all users; `place` 9 fails. */
const fittedOn: number[] = [];
const placing: Method = {
  name: "placing",
  grid: () => [],
  cost: ({ items }, { memoryMb = 1 }) => ({ seconds: items.length / 3000, memoryMb }),
  fit: async ({ items }, params) => {
    fittedOn.push(items.length);
    if (params.place === 9) throw new Error("singular");
    const bias = Float32Array.of(0, 4.5 - params.place!, 3, 2, 1);
    return fittedLinear("placing", params, { itemCount: 5, terms: [], bias });
  },
};
const tune = (grid: Params[], secondsMax: number, keepMax = 1) => {
  fittedOn.length = 0;
  const task = { method: placing, grid, data, cases, positions, metric: "mrr@4" as const, secondsMax, keepMax };
  return tuneMethod(task, context);
};
const places = (...all: number[]) => all.map((place) => ({ place }));

test("the best setting is found, the others are told with the figures they lost by", async () => {
  const { finalists, discarded } = await tune(places(3, 1, 2), 10);
  expect(finalists.map(({ params }) => params.place)).toEqual([1]);
  expect(meanOf(finalists[0]!.evaluation, "mrr@4")).toBe(1);
  expect(discarded.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ["dropped", "mrr@4 0.3333 on 40 users, and 1.0000 with other settings of the same method"],
    ["dropped", "mrr@4 0.5000 on 40 users, and 1.0000 with other settings of the same method"],
  ]);
});
test("the best two can be kept, the best first", async () => {
  const { finalists } = await tune(places(3, 1, 2), 10, 2);
  expect(finalists.map(({ params }) => params.place)).toEqual([1, 2]);
});
test("with little time most are tried on a third of the users, and the best on all", async () => {
  const { finalists, discarded } = await tune(places(3, 4, 2, 1), 3.6);
  expect(fittedOn.length).toBe(4 + 2);
  expect(fittedOn.filter((rows) => rows === 3000).length).toBe(2);
  expect(finalists.map(({ params, trainFraction }) => [params.place, trainFraction])).toEqual([[1, 1]]);
  expect(discarded.filter(({ trainFraction }) => trainFraction < 1).map(({ params }) => params.place)).toEqual([4, 3]);
  expect(discarded[0]!.reason).toContain("after fitting on 33 % of the users");
});
test("with hardly any time the first guess alone is tried", async () => {
  const { finalists, discarded } = await tune(places(3, 1, 2), 1.2);
  expect(finalists.map(({ params }) => params.place)).toEqual([3]);
  expect(discarded.map(({ outcome }) => outcome)).toEqual(["left_out", "left_out"]);
});
test("without time for one, nothing is tried, and each says what it needs", async () => {
  const { finalists, discarded } = await tune(places(1), 0.5);
  expect(finalists).toEqual([]);
  expect(discarded[0]!.reason).toBe("needs about 1.0 s to fit and evaluate, and 0.5 s are left for it");
});
test("where the best guess takes too long, those that fit are tried", async () => {
  const dear = { ...placing, cost: (_: unknown, { place }: Params) => ({ seconds: place === 1 ? 9 : 1, memoryMb: 1 }) };
  const task = { method: dear as Method, grid: places(1, 3, 2), data, cases, positions, metric: "mrr@4" as const };
  const { finalists, discarded } = await tuneMethod({ ...task, secondsMax: 4, keepMax: 1 }, context);
  expect(finalists.map(({ params }) => params.place)).toEqual([2]);
  expect(discarded[0]!.reason).toBe("needs about 9.0 s to fit and evaluate, and 4.0 s are left for it");
});
test("what needs too much memory is left out", async () => {
  const { finalists, discarded } = await tune([{ place: 1, memoryMb: 101 }, { place: 2 }], 10);
  expect(finalists.map(({ params }) => params.place)).toEqual([2]);
  expect(discarded[0]).toMatchObject({
    outcome: "left_out",
    reason: "needs about 101 MB of memory to fit, and may use 100 MB",
  });
});
test("a setting that fails is told, and the others go on", async () => {
  const { finalists, discarded } = await tune(places(9, 2), 10);
  expect(finalists.map(({ params }) => params.place)).toEqual([2]);
  expect(discarded).toEqual([expect.objectContaining({ outcome: "failed", reason: "failed: singular" })]);
});
test("when time is up, the rest is left out", async () => {
  let now = 0;
  const task = { method: placing, grid: places(3, 2, 1), data, cases, positions, metric: "mrr@4" as const };
  const { finalists, discarded } = await tuneMethod(
    { ...task, secondsMax: 4, keepMax: 1 },
    { ...context, clock: () => now++ },
  );
  expect(finalists.length).toBe(1);
  expect(discarded.some(({ reason }) => reason.includes("were used up"))).toBe(true);
});
test("an aborted run is not a failed setting", () => {
  const task = { method: placing, grid: places(1), data, cases, positions, metric: "mrr@4" as const };
  const aborted = { ...context, signal: AbortSignal.abort(new Error("deleted")) };
  return expect(tuneMethod({ ...task, secondsMax: 9, keepMax: 1 }, aborted)).rejects.toThrow("deleted");
});

describe("some of the users", () => {
  test("about the share asked for, whole histories, the same ones again", () => {
    const some = withSomeUsers(data, 0.3, 5);
    expect(some.userCount).toBe(3000);
    expect(some.items.length / 3000).toBeCloseTo(0.3, 1);
    expect(withSomeUsers(data, 0.3, 5)).toEqual(some);
  });
  test("all of them is the data itself", () => expect(withSomeUsers(data, 1, 5)).toBe(data));
});
test("nothing is begun after the last moment, and a slow machine tries less", async () => {
  const task = { method: placing, grid: places(3, 1), data, cases, positions, metric: "mrr@4" as const, keepMax: 1 };
  const late = await tuneMethod({ ...task, secondsMax: 10, secondsHard: 0 }, context);
  expect(late.finalists).toEqual([]);
  expect(late.discarded.map(({ outcome }) => outcome)).toEqual(["left_out", "left_out"]);
  fittedOn.length = 0;
  const slow = await tuneMethod({ ...task, secondsMax: 10, pace: { fit: 8, evaluation: 1 } }, context);
  expect([slow.finalists.length, fittedOn.length]).toEqual([1, 1]);
});

test("a trial may take three times what is predicted, also when the time of its method is used up", async () => {
  const waits: number[] = [];
  const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation((milliseconds) => {
    waits.push(milliseconds);
    return new AbortController().signal;
  });
  try {
    const dear = { ...placing, cost: () => ({ seconds: 100, memoryMb: 1 }) };
    const task = { method: dear, grid: places(1), data, cases, positions, metric: "mrr@4" as const, keepMax: 1 };
    let now = 0;
    const clock = () => now++ && 105; // all but five seconds are gone when it begins
    expect((await tuneMethod({ ...task, secondsMax: 110 }, { ...context, clock })).finalists.length).toBe(1);
    expect(
      (await tuneMethod({ ...task, secondsMax: 110, secondsHard: 250 }, { ...context, clock: () => 0 })).finalists
        .length,
    ).toBe(1);
    expect(waits.map((ms) => Math.round(ms / 1000))).toEqual([300, 300, 250, 250]); // of the trial, and of its fit
  } finally {
    timeout.mockRestore();
  }
});
