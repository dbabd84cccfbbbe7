import { beforeAll, describe, expect, test } from "vitest";
import { lastRound } from "../../../../trainer/choose/decide/last-round.ts";
import type { SelectState } from "../../../../trainer/choose/tries/select-state.ts";
import type { Trial } from "../../../../trainer/choose/tries/trial.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { selectState, trialIn } from "../../../fixtures/select-state.ts";
import { twoTastes } from "../../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 5000, items: 20, perUser: 4 });
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
let state: SelectState;
let tried: Trial[];
beforeAll(async () => {
  state = await selectState(shop, [shifted]);
  tried = [await trialIn(state, shifted, { shift: 0 }), await trialIn(state, shifted, { shift: 8 })];
});
const last = (changes: Partial<SelectState> = {}) => {
  const discarded: SelectState["discarded"] = [];
  return { discarded, done: lastRound({ ...state, tried, discarded, ...changes }) };
};

describe("the last round", () => {
  test("trials near the best are evaluated on all users; trials far behind keep their early figures", async () => {
    const { discarded, done } = last();
    const { finalists, positions } = await done;
    expect(finalists.map(({ params }) => params.shift)).toEqual([0]);
    expect([finalists[0]!.evaluation.positions.length, positions.length]).toEqual([5000, 5000]);
    expect(discarded).toMatchObject([{ method: "shifted", params: { shift: 8 }, outcome: "dropped" }]);
  });
  test("the live version's method is in it, however far behind", async () => {
    const { finalists } = await last({ live: { method: "shifted", params: { shift: 8 } } }).done;
    expect(finalists.map(({ params }) => params.shift)).toEqual([0, 8]);
    expect(finalists[1]!.evaluation.positions.length).toBe(5000);
  });
  test("with little time all trials are evaluated on the same part of the users", async () => {
    const slow = tried.map((trial) => ({ ...trial, secondsPerList: 0.1 }));
    const { finalists, baseline, positions } = await last({ tried: slow, secondsLeft: () => 120 }).done;
    expect(positions.length).toBe(4000); // 0.1 s a list: a thousand further users
    expect(baseline.evaluation.positions).toEqual(finalists[0]!.evaluation.positions);
  });
  test("the time that the refit needs is kept", async () => {
    const long = tried.map((trial) => ({ ...trial, fitSeconds: 8, secondsPerList: 1e-3 }));
    expect((await last({ tried: long, secondsLeft: () => 10.9 }).done).positions.length).toBe(3000);
    expect((await last({ tried: long, secondsLeft: () => 11.1 }).done).positions.length).toBe(4000);
  });
  test("with no time the early figures decide", async () => {
    const { positions, finalists } = await last({ secondsLeft: () => 0 }).done;
    expect([positions.length, finalists.length]).toEqual([3000, 1]);
  });
  test("without trials nothing is evaluated", async () =>
    expect((await last({ tried: [] }).done).finalists).toEqual([]));
  test("a candidate whose evaluation fails loses with its reason, and the others go on", async () => {
    const broken = { ...tried[0]!.served, exported: { ...tried[0]!.served.exported, graph: Uint8Array.of(1) } };
    const { discarded, done } = last({ tried: [{ ...tried[0]!, served: broken }, { ...tried[0]! }] });
    expect((await done).finalists.length).toBe(1);
    expect(discarded).toMatchObject([{ method: "shifted", outcome: "failed" }]);
    expect(discarded[0]!.reason).toMatch(/^failed: /);
  });
});
