import { expect, test } from "vitest";
import { evaluateFiles } from "../../../../trainer/choose/files/evaluate-files.ts";
import { tableOfTrain, valuesOfTrain } from "../../../../trainer/choose/files/evaluate-newcomers.ts";
import { ease } from "../../../../trainer/learn/ease.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { popularity } from "../../../../trainer/learn/popularity.ts";
import { rowsWhere } from "../../../../trainer/read/dataset/split.ts";
import { userValueTable } from "../../../../trainer/read/dataset/user-value-table.ts";
import { tastesByCity } from "../../../fixtures/tastes-by-city.ts";

const whole = tastesByCity({ users: 400, items: 40, perUser: 10 });
/** The last hundred users are new: all their rows are in the test part, next to two rows of each of the others. */
const isTest = (row: number) => row >= 300 * 10 || row % 10 >= 8;
const train = { ...whole, ...rowsWhere(whole, (row) => !isTest(row)) };

const run = (userAttributes = train.userAttributes) =>
  evaluateFiles(
    {
      train: { ...train, userAttributes },
      test: rowsWhere(whole, isTest),
      columns: { kind: "guessed", user: "user", item: "item", time: null, label: null },
      rejectedRows: 0,
      warnings: [],
    },
    {
      protocol: "set",
      methods: { popularity: popularity as Method, ease: ease as Method },
      measureAll: false,
      cutOffs: [5, 10],
      includeSeen: false,
      secondsMax: 60,
      memoryMbMax: 1000,
      budget: { weightBytesMax: 1e7 },
      seed: 1,
      signal: new AbortController().signal,
      clock: () => performance.now() / 1000,
      log: () => undefined,
    },
  );

test("users of the test file without train rows are ranked for by their attributes, and it is told what that is worth", async () => {
  const { users_without_history: newcomers, models } = await run();
  expect(newcomers).toMatchObject({ users: 100, served: true });
  expect(newcomers!.reason).toMatch(/^Users without a history are ranked for by attributes/);
  expect(Object.keys(newcomers!.attributes)).toContain("ndcg@10");
  expect(newcomers!.attributes["ndcg@10"]).toBeGreaterThan(1.3 * newcomers!.popularity["ndcg@10"]!);

  // Models are judged as they would be served, so the newcomers' lists are in their figures too.
  const without = await run([]);
  expect(without).not.toHaveProperty("users_without_history");
  expect(models[0]!.name).toBe("ease");
  expect(models[0]!.metrics["ndcg@10"]).toBeGreaterThan(without.models[0]!.metrics["ndcg@10"]!);
});

test("attributes that say nothing change no list, and the reason is told", async () => {
  const [, team] = train.userAttributes;
  const { users_without_history: newcomers } = await run([team!]);
  expect(newcomers).toMatchObject({ users: 100, served: false });
  expect(newcomers!.attributes).toEqual(newcomers!.popularity);
});

test("which values there are is told by users of the train file alone", () => {
  const [city] = train.userAttributes as unknown as [{ codes: Uint32Array; dictionary: string[] }];
  const codes = city.codes.map((code, user) => (user < 300 ? code : 2));
  const userAttributes = [{ ...city, dictionary: ["Bonn", "Ulm", "Kiel"], codes }] as never;
  expect(userValueTable(userAttributes).valueCount).toBe(3);
  expect(tableOfTrain({ ...train, userAttributes })!.valueCount).toBe(2);
  expect(tableOfTrain({ ...train, userAttributes: [] })).toBeUndefined();
});

test("nothing is served where nothing was chosen", () => {
  const table = tableOfTrain(train);
  expect(valuesOfTrain(train, table, { userValues: undefined, halfLifeDays: 0 })).toBeUndefined();
  const userValues = { values: [1, 0], shrink: 30, weight: 1 };
  const values = valuesOfTrain(train, table, { userValues, halfLifeDays: 0 })!;
  expect([values.codesOf(0).length, values.score([0]).length]).toEqual([1, 40]);
  expect(valuesOfTrain(train, undefined, { userValues, halfLifeDays: 0 })).toBeUndefined();
});
