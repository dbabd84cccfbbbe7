import { expect, test } from "vitest";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { gainOf, heldOutNdcg, holdOut } from "../../../../trainer/learn/neural/held-out.ts";
import type { Histories } from "../../../../trainer/learn/statistics/histories.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const LENGTH = 4;
/** Users whose entries are 0, 1, 2, 3 of twenty items. */
const histories = (userCount: number): Histories => ({
  userCount,
  itemCount: 20,
  start: Uint32Array.from({ length: userCount + 1 }, (_, user) => LENGTH * user),
  items: Int32Array.from({ length: LENGTH * userCount }, (_, i) => i % LENGTH),
});

test.each([
  [90, 30],
  [600, 200],
  [2000, 333],
  [5000, 833],
  [20_000, 1000],
])("of %i users, the last entry of %i is held out", (userCount, count) => {
  const { ends, users } = holdOut(histories(userCount), fitContext().random);
  expect(users.length).toBe(count);
  const held = new Set(users);
  const expected = Array.from({ length: userCount }, (_, user) => LENGTH * (user + 1) - (held.has(user) ? 1 : 0));
  expect(Array.from(ends)).toEqual(expected);
});

test("nothing is held out of too few users", async () => {
  const heldOut = holdOut(histories(80), fitContext().random);
  expect(heldOut.users.length).toBe(0);
  const scorer = { score: async () => new Float32Array(0), release: async () => {} };
  const setup = { histories: histories(80), heldOut, length: LENGTH, signal: fitContext().signal };
  expect(await heldOutNdcg(scorer, averagesOf(new Map()), setup)).toBeUndefined();
});

test.each([
  [
    "the target is first among items outside the history, although items of the history score higher",
    [9, 8, 7, 5, 1],
    [0, 1, 2],
    3,
    1,
  ],
  ["one item outside the history is above: 1 / log2(3)", [9, 8, 7, 5, 6], [0, 1, 2], 3, 1 / Math.log2(3)],
  ["an equal score with a smaller index is above", [0, 5, 0, 5, 0], [0], 3, 1 / Math.log2(3)],
  ["an equal score with a larger index is below", [0, 0, 0, 5, 5], [0], 3, 1],
  ["a target in the history counts 0", [1, 2, 3, 4, 5], [3], 3, 0],
  ["a target without a score counts 0, so that failed training does not look perfect", [NaN, NaN, NaN], [0], 1, 0],
  ["rank 11 still counts", [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2], [], 0, 1 / Math.log2(12)],
])("%s", (_, scores, history, target, gain) => {
  expect(gainOf(Float32Array.from(scores), Int32Array.from(history), target)).toBeCloseTo(gain, 9);
});

test("the network sees the window before the held-out entry", async () => {
  const setup = histories(400);
  const heldOut = holdOut(setup, fitContext().random);
  const score = async (
    _: unknown,
    { rowCount, items, length }: { rowCount: number; items: Int32Array; length: number },
  ) => {
    expect([...items.subarray(0, length)]).toEqual([1, 2]);
    const scores = new Float32Array(rowCount * 20);
    for (let row = 0; row < rowCount; row++) scores[row * 20 + 3] = 1;
    return scores;
  };
  const scorer = { score, release: async () => {} };
  const { signal } = fitContext();
  expect(await heldOutNdcg(scorer, averagesOf(new Map()), { histories: setup, heldOut, length: 2, signal })).toBe(1);
});

test("an abort ends the evaluation after the current group", async () => {
  const controller = new AbortController();
  let scored = 0;
  const score = async (_: unknown, { rowCount }: { rowCount: number }) => {
    scored++;
    controller.abort(new Error("enough"));
    return new Float32Array(rowCount * 20);
  };
  const scorer = { score, release: async () => {} };
  const setup = { histories: histories(400), heldOut: holdOut(histories(400), fitContext().random), length: LENGTH };
  const evaluation = heldOutNdcg(scorer, averagesOf(new Map()), { ...setup, signal: controller.signal });
  await expect(evaluation).rejects.toThrow("enough");
  expect(scored).toBe(1);
});
