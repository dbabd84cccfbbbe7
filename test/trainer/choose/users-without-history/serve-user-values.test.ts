import { expect, test } from "vitest";
import { topK } from "../../../../shared/top-k.ts";
import { decodeUserValues } from "../../../../shared/user-values.ts";
import { listOf } from "../../../../trainer/choose/evaluate/evaluate.ts";
import { casesOfSplit } from "../../../../trainer/choose/evaluate/evaluation-cases.ts";
import type { Validation } from "../../../../trainer/choose/splits/validation.ts";
import { runTrial } from "../../../../trainer/choose/tries/trial.ts";
import {
  refitUserValues,
  servedValues,
  withServedValues,
} from "../../../../trainer/choose/users-without-history/serve-user-values.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { reorderItems } from "../../../../trainer/read/dataset/reorder-items.ts";
import { rowsWhere } from "../../../../trainer/read/dataset/split.ts";
import { userValueTable } from "../../../../trainer/read/dataset/user-value-table.ts";
import { byFallingScore, countPerItem } from "../../../fixtures/by-popularity.ts";
import { tastesByCity } from "../../../fixtures/tastes-by-city.ts";

const data = tastesByCity({ users: 200, items: 30, perUser: 8 });
const order = byFallingScore(countPerItem(data));
const dataset = reorderItems(data, order);
const table = userValueTable(dataset.userAttributes);

test("the file has the chosen values in their order, learnt from all users", () => {
  const [bonn, ulm] = ["Bonn", "Ulm"].map((name) => table.columns[0]!.codes.get(name)!);
  const choice = { values: [bonn!, ulm!], shrink: 10, weight: 1 };
  const bytes = refitUserValues(dataset, { table, choice, halfLifeDays: 30 });
  const values = decodeUserValues(bytes);
  expect([values.itemCount, values.valueCount, values.headCount]).toEqual([30, 2, 30]);
  const parities = (code: number) => topK(values.score([code]), 10).map((item) => order[item]! % 2);
  expect([parities(0).reduce((a, b) => a + b), parities(1).reduce((a, b) => a + b)]).toEqual([0, 10]);
  expect(refitUserValues(dataset, { table, choice, halfLifeDays: 30 })).toEqual(bytes);
  // No value: the order of the catalog.
  const { score } = decodeUserValues(refitUserValues(dataset, { table, choice, halfLifeDays: 0 }));
  expect(topK(score([]), 30)).toEqual(Array.from({ length: 30 }, (_, item) => item));
});

test("as served, users have the codes of the chosen values, and the scores are those of the file", () => {
  const ulm = table.columns[0]!.codes.get("Ulm")!;
  const refit = { table, choice: { values: [ulm], shrink: 10, weight: 1 }, halfLifeDays: 0 };
  const { score, codesOf } = servedValues(dataset, refit);
  // The others have names, and score nothing.
  expect([codesOf(0), codesOf(1), codesOf(3)].map((codes) => codes.filter((code) => code === 0))).toEqual([
    [],
    [0],
    [0],
  ]);
  expect(score([0])).toEqual(decodeUserValues(refitUserValues(dataset, refit)).score([0]));
});

test("every value has a name, whether or not it scores", () => {
  for (const values of [[table.columns[0]!.codes.get("Ulm")!], undefined]) {
    const choice = values && { values, shrink: 10, weight: 1 };
    const { score, codesOf, attributesOf, attributes } = servedValues(dataset, { table, choice, halfLifeDays: 0 });
    expect(attributes!.toSorted()).toEqual(["city", "team"]);
    expect([0, 1, 3].map((user) => attributesOf!(codesOf(user)))).toEqual([
      { city: "Bonn", team: "blue" },
      { city: "Ulm", team: "blue" },
      { city: "Ulm", team: "green" },
    ]);
    expect(score(codesOf(0))).toBeUndefined();
    expect(score(codesOf(1)) !== undefined).toBe(choice !== undefined);
  }
});

const ITEMS = 20;
const all = tastesByCity({ users: 40, items: ITEMS, perUser: 6 });
/** Users from 30 on are new and have no training rows. The last choice of each other user is a target. */
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
    { data: train, cases, positions, trainFraction: 1, secondsMax: 9, secondsHard: 900 },
    { ...options, budget: { weightBytesMax: 1e6 }, memoryMbMax: 100, seed: 1, clock: () => 0, progress: () => {} },
  );

test("users without a history get the lists of their values; the lists of other users stay", async () => {
  const trial = await trialOf();
  const { evaluation } = await withServedValues(trial, validation, { ...options, values });
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

test("nothing changes without served values or without new users", async () => {
  const trial = await trialOf();
  expect(await withServedValues(trial, validation, { ...options, values: undefined })).toBe(trial);
  const known = await trialOf(Uint32Array.of(0, 1, 2));
  expect(await withServedValues(known, validation, { ...options, values })).toBe(known);
});
