import { afterAll, beforeAll, expect, test } from "vitest";
import { RUNS_KEPT, type RunRecord } from "../../../../shared/run-record.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { endedRuns, storeEndedRun } from "../../../../trainer/manage/records/ended-runs.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

let database: Database;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());

const MODEL = { customer: "acme", modelName: "shop" };
const aRun = (number: number, outcome: RunRecord["outcome"], model = "shop"): RunRecord => ({
  run_id: `${model}-${number}`,
  outcome,
  attempt: 1,
  started_at: new Date(number * 60_000).toISOString(),
  ended_at: new Date(number * 60_000 + 1000).toISOString(),
  stages: [{ stage: "FETCHING", seconds: 1 }],
  read: null,
  version: null,
  quality: null,
  failure: null,
  report: null,
});

test("the newest runs of a model are kept, and refused ones for longer", async () => {
  const other = { ...MODEL, modelName: "other" };
  const theirs = aRun(1, "failed", "other");
  await storeEndedRun(database, other, theirs);
  const refused = Array.from({ length: RUNS_KEPT + 3 }, (_, i) => aRun(i, "refused"));
  const published = Array.from({ length: RUNS_KEPT + 2 }, (_, i) => aRun(100 + i, "published"));
  for (const run of [...refused, ...published]) await storeEndedRun(database, MODEL, run);
  expect(await endedRuns(database, MODEL)).toEqual([...refused.slice(3), ...published.slice(2)].reverse());
  expect(await endedRuns(database, other)).toEqual([theirs]);
});
