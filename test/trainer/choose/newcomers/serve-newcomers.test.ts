import { expect, test } from "vitest";
import { runTrial } from "../../../../trainer/choose/choosing/trial.ts";
import type { Validation } from "../../../../trainer/choose/choosing/validation.ts";
import { listOf } from "../../../../trainer/choose/lists/evaluate.ts";
import { casesOfSplit } from "../../../../trainer/choose/lists/evaluation-cases.ts";
import { serveNewcomers } from "../../../../trainer/choose/newcomers/serve-newcomers.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { rowsWhere } from "../../../../trainer/read/dataset/split.ts";
import { tastesByCity } from "../../../fixtures/tastes-by-city.ts";

const ITEMS = 20;
const all = tastesByCity({ users: 40, items: ITEMS, perUser: 6 });
/** Users from 30 on are new: nothing of them is known. Of the others the last choice is asked for. */
const isTarget = (row: number) => row >= 30 * 6 || row % 6 === 5;
const train = { ...all, ...rowsWhere(all, (row) => !isTarget(row)) };
const cases = casesOfSplit(train, rowsWhere(all, isTarget));
const validation = { split: { cases } } as unknown as Validation;
const signal = new AbortController().signal;
const options = { cutOffs: [5], includeSeen: false, signal };
/** Odd items for odd users, the largest first. */
const values = {
  score: ([parity]: readonly number[]) => Float32Array.from({ length: ITEMS }, (_, i) => (i % 2 === parity ? i : -i)),
  codesOf: (user: number) => [user % 2],
};

const trialOf = (positions = Uint32Array.from({ length: cases.count }, (_, at) => at)) =>
  runTrial(
    { method: popularity as Method, params: { halfLifeDays: 0 } },
    { data: train, cases, positions, trainShare: 1, secondsMax: 9, secondsHard: 9 },
    { ...options, budget: { weightBytesMax: 1e6 }, memoryMbMax: 100, seed: 1, clock: () => 0, progress: () => {} },
  );

test("users without a history get the lists of their values, in their places; the lists of others stay", async () => {
  const trial = await trialOf();
  const { evaluation } = await serveNewcomers(trial, validation, { ...options, values });
  expect(evaluation.positions).toEqual(trial.evaluation.positions);
  for (const [i, at] of evaluation.positions.entries()) {
    const user = cases.userAt(at)!;
    if (user < 30) expect(listOf(evaluation, i)).toEqual(listOf(trial.evaluation, i));
    else expect(listOf(evaluation, i)).toEqual([19, 17, 15, 13, 11].map((item) => item - ((user + 1) % 2)));
  }
  const before = trial.evaluation.values.get("ndcg@5")!;
  const after = evaluation.values.get("ndcg@5")!;
  const known = [...evaluation.positions.keys()].filter((i) => cases.userAt(evaluation.positions[i]!)! < 30);
  expect(known.map((i) => after[i])).toEqual(known.map((i) => before[i]));
  expect(after).not.toEqual(before);
});

test("nothing changes where no values are served, or nobody is new", async () => {
  const trial = await trialOf();
  expect(await serveNewcomers(trial, validation, { ...options, values: undefined })).toBe(trial);
  const known = await trialOf(Uint32Array.of(0, 1, 2));
  expect(await serveNewcomers(known, validation, { ...options, values })).toBe(known);
});
