import { beforeAll, describe, expect, test } from "vitest";
import { lastRound, withBlend } from "../../../../trainer/choose/decide/last-round.ts";
import { planSplit } from "../../../../trainer/choose/splits/choose-split.ts";
import { validationOf } from "../../../../trainer/choose/splits/validation.ts";
import { runTrial, type Trial } from "../../../../trainer/choose/tries/trial.ts";
import type { SelectState } from "../../../../trainer/choose/tries/try-methods.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { TRIAL_CONTEXT } from "../../../fixtures/trial-context.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 5000, items: 20, perUser: 4 });
const validation = validationOf(shop, planSplit(shop, { protocol: "next-item", seed: 1, includeSeen: false }), 0, 1);
const context = { ...TRIAL_CONTEXT, memoryMbMax: 1000 };
/** Popularity, the first `shift` places of the catalog left to the end. */
const shifted: Method = {
  name: "shifted",
  grid: () => [],
  cost: () => ({ seconds: 0, memoryMb: 1 }),
  fit: async ({ itemCount }, params) => {
    const bias = Float32Array.from({ length: itemCount }, (_, item) =>
      item < params.shift! ? -item : itemCount - item,
    );
    return fittedLinear("shifted", params, { itemCount, terms: [], bias });
  },
};
const trialOf = (shift: number, positions: Uint32Array) =>
  runTrial(
    { method: shifted, params: { shift } },
    {
      data: validation.train,
      cases: validation.split.cases,
      positions,
      trainFraction: 1,
      secondsMax: 9,
      secondsHard: 900,
    },
    context,
  );
let baseline: Trial;
let tried: Trial[];
beforeAll(async () => {
  baseline = await trialOf(0, validation.positions);
  tried = [await trialOf(0, validation.earlyPositions), await trialOf(8, validation.earlyPositions)];
});
const stateOf = (changes: Partial<SelectState> = {}): SelectState => ({
  methods: { shifted },
  live: undefined,
  context,
  metric: "ndcg@10",
  validation,
  baseline,
  secondsMax: 1000,
  secondsLeft: () => 1000,
  discarded: [],
  ...changes,
});

describe("the last round", () => {
  test("trials near the best are evaluated on all users; trials far behind keep their early figures", async () => {
    const state = stateOf();
    const { finalists, baseline: whole, positions } = await lastRound(state, tried);
    expect(finalists.map(({ params }) => params.shift)).toEqual([0]);
    expect([finalists[0]!.evaluation.positions.length, positions.length]).toEqual([5000, 5000]);
    expect(finalists[0]!.evaluation).toEqual(whole.evaluation);
    expect(state.discarded).toMatchObject([{ method: "shifted", params: { shift: 8 }, outcome: "dropped" }]);
  });
  test("the live version's method is in it, however far behind", async () => {
    const { finalists } = await lastRound(stateOf({ live: { method: "shifted", params: { shift: 8 } } }), tried);
    expect(finalists.map(({ params }) => params.shift)).toEqual([0, 8]);
    expect(finalists[1]!.evaluation.positions.length).toBe(5000);
  });
  test("with little time all trials are evaluated on the same part of the users", async () => {
    const slow = tried.map((trial) => ({ ...trial, secondsPerList: 0.1 }));
    const state = stateOf({ secondsLeft: () => 400 }); // 120 s for 0.1 s a list: a thousand further users
    const { finalists, baseline: part, positions } = await lastRound(state, slow);
    expect(positions.length).toBe(4000);
    expect(part.evaluation).toEqual(finalists[0]!.evaluation);
  });
  test("the time that the longest refit needs is kept", async () => {
    const long = tried.map((trial) => ({ ...trial, fitSeconds: 9, secondsPerList: 1e-4 }));
    const { positions } = await lastRound(stateOf({ secondsLeft: () => 13 }), long);
    expect(positions).toEqual(validation.earlyPositions);
    const some = await lastRound(stateOf({ secondsLeft: () => 14 }), long);
    expect(some.positions.length).toBeGreaterThan(positions.length);
  });
  test("with no time the early figures decide", async () => {
    const { positions, finalists } = await lastRound(stateOf({ secondsLeft: () => 0 }), tried);
    expect(positions).toEqual(validation.earlyPositions);
    expect(finalists.length).toBe(1);
  });
  test("without trials nothing is evaluated", async () =>
    expect((await lastRound(stateOf(), [])).finalists).toEqual([]));
});

test("without a blend that gains, the candidates are as they were", async () =>
  expect(await withBlend(stateOf(), tried)).toEqual(tried));

test("a trial that could not be fitted again in time is no part of a blend", async () => {
  const throwing = () => {
    throw new Error("asked to be part of a blend");
  };
  const long = tried.map((trial) => ({
    ...trial,
    fitSeconds: 70,
    fitted: { ...trial.fitted!, append: throwing },
  }));
  const state = stateOf({ secondsLeft: () => 100 });
  expect(await withBlend(state, long)).toEqual(long);
  expect(state.discarded).toEqual([]);
});

describe("a candidate whose evaluation fails", () => {
  test("on further users loses with its reason, and the others go on", async () => {
    const broken = { ...tried[0]!.served, exported: { ...tried[0]!.served.exported, graph: Uint8Array.of(1) } };
    const state = stateOf();
    const { finalists } = await lastRound(state, [{ ...tried[0]!, served: broken }, { ...tried[0]! }]);
    expect(finalists.length).toBe(1);
    expect(state.discarded).toMatchObject([{ method: "shifted", outcome: "failed" }]);
    expect(state.discarded[0]!.reason).toMatch(/^failed: /);
  });
  test("in a blend is in none", async () => {
    const throwing = () => {
      throw new Error("singular");
    };
    const failing = tried.map((trial) => ({ ...trial, fitted: { ...trial.fitted!, append: throwing } }));
    const state = stateOf();
    expect(await withBlend(state, failing)).toEqual(failing);
    expect(state.discarded).toMatchObject([{ method: "blend", outcome: "failed", reason: "failed: singular" }]);
  });
});
