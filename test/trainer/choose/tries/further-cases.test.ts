import { beforeAll, expect, test } from "vitest";
import { onFurtherCases } from "../../../../trainer/choose/tries/further-cases.ts";
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
const further = (changes: Partial<SelectState> = {}) => {
  const own = { ...state, tried: [...tried], discarded: [] as SelectState["discarded"], ...changes };
  return { ...own, done: onFurtherCases(own, state.validation.positions) };
};
const shiftsOf = (trials: readonly Trial[]) => trials.map(({ params }) => params.shift);

test("trials near the best are evaluated on all users; trials far behind keep their figures", async () => {
  const { tried, discarded, done } = further();
  expect((await done).length).toBe(5000);
  expect(shiftsOf(tried)).toEqual([0]);
  expect(tried[0]!.evaluation.positions.length).toBe(5000);
  expect(discarded).toMatchObject([{ method: "shifted", params: { shift: 8 }, outcome: "dropped" }]);
});
test("with a floor on coverage that better trials miss, a trial far behind that shows more items goes on", async () => {
  const showing = (items: number) => (trial: Trial) => {
    const { evaluation } = trial;
    return { ...trial, evaluation: { ...evaluation, lists: evaluation.lists.map((_, i) => i % items) } };
  };
  const keptWith = async (coverageMin: number) => {
    const [best, behind] = [showing(4)(tried[0]!), showing(20)(tried[1]!)];
    const { tried: kept, done } = further({ tried: [best, behind], coverageMin });
    await done;
    return shiftsOf(kept);
  };
  expect(await keptWith(0.5)).toEqual([0, 8]);
  expect(await keptWith(0.2)).toEqual([0]); // the better trial reaches it
});
test("the live version's method goes on, however far behind", async () => {
  const { tried, done } = further({ live: { method: "shifted", params: { shift: 8 } } });
  await done;
  expect(shiftsOf(tried)).toEqual([0, 8]);
  expect(tried[1]!.evaluation.positions.length).toBe(5000);
});
test("with little time all trials are evaluated on the same part of the users", async () => {
  const slow = tried.map((trial) => ({ ...trial, secondsPerList: 0.1 }));
  const some = further({ tried: slow, secondsLeft: () => 360 });
  expect((await some.done).length).toBe(4000); // 120 s for 0.1 s a list: a thousand further users
  expect(some.tried[0]!.evaluation.positions).toEqual(await some.done);
});
test("with no time everything stays as it is", async () => {
  const { tried: left, done } = further({ secondsLeft: () => 0 });
  expect([(await done).length, left]).toEqual([3000, tried]);
});
test("without trials nothing is evaluated", async () => {
  const { tried: none, done } = further({ tried: [] });
  await done;
  expect(none).toEqual([]);
});
test("a candidate whose evaluation fails loses with its reason, and the others go on", async () => {
  const broken = { ...tried[0]!.served, exported: { ...tried[0]!.served.exported, graph: Uint8Array.of(1) } };
  const { tried: left, discarded, done } = further({ tried: [{ ...tried[0]!, served: broken }, { ...tried[0]! }] });
  await done;
  expect([left.length, discarded.length]).toEqual([1, 1]);
  expect(discarded[0]).toMatchObject({
    method: "shifted",
    outcome: "failed",
    reason: expect.stringMatching(/^failed: /),
  });
});
