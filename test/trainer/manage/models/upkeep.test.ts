import { existsSync } from "node:fs";
import { mkdir, utimes } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { scheduleDueRuns, startUpkeep, type UpkeepContext } from "../../../../trainer/manage/models/upkeep.ts";
import { batches } from "../../../../trainer/manage/records/batches.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { erasureDeadlines } from "../../../../trainer/manage/records/erasure-deadlines.ts";
import { modelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { runLedger } from "../../../../trainer/manage/records/run-ledger.ts";
import { modelFolders } from "../../../../trainer/manage/runs/model-folders.ts";
import { listEventFiles } from "../../../../trainer/store/event-files.ts";
import { putEvents } from "../../../fixtures/event-files.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshFolder, freshState } from "../../../fixtures/trainer-state.ts";

const DAY_MS = 86_400_000;
const NAME = { customer: "acme", modelName: "shop" };
const START = Date.parse("2026-01-01T00:00:00Z");
let database: Database;
let context: UpkeepContext;
let nowMs = START;
let upkept: string[];
let reconciled: string[];
const logs: LogEntry[] = [];

beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ["models", "runs", "erased_users"]) await database.query(`delete from shortlist.${table}`);
  nowMs = START;
  upkept = [];
  reconciled = [];
  context = {
    database,
    registry: modelRegistry(database, () => nowMs),
    ledger: runLedger(database, "ours", 30),
    batches: batches(database, "ours", 30),
    workers: { wake: () => void upkept.push("wake") },
    pointers: {
      reconcile: ({ modelName }) => void reconciled.push(modelName),
      whenReconciled: async () => {},
      retryFailed: () => void upkept.push("retry"),
      idle: async () => {},
    },
    folders: modelFolders(await freshFolder()),
    store: memoryStore(),
    backupHours: 0,
    eventRetentionMs: 396 * DAY_MS,
    caps: { models: 100, runs: 2, queue: 50, callsPerMinute: 600, scheduleSecondsMin: 60 },
    erasures: {
      erase: async () => {},
      settle: async () => void upkept.push("settle"),
      restore: async () => void upkept.push("restore"),
      prepareList: async () => "0".repeat(32),
    },
    deadlines: erasureDeadlines({
      database,
      nowMs: () => nowMs,
      withinMs: 30 * DAY_MS,
      log: (entry) => void logs.push(entry),
    }),
    nowMs: () => nowMs,
    log: (entry) => void logs.push(entry),
  };
});

const FAILURE = {
  stage: "fetching",
  code: "no_rows",
  message: "None.",
  at: "2026-01-01T00:00:00Z",
  retryable: false,
};

/** A model whose first run has ended. */
async function aTrainedModel(name: string, schedule: string, nextRunAt: string | null) {
  const spec = specOf(name, "wait", { train_schedule: schedule });
  await context.registry.insert(database, { customer: "acme", spec, nextRunAt });
  const first = { runId: `first-${name}`, attempt: 1 };
  await context.registry.apply("acme", name, { kind: "scheduled", runId: first.runId });
  await context.registry.apply("acme", name, { kind: "started", ...first });
  await context.registry.apply("acme", name, { kind: "failed", failure: FAILURE, ...first });
}
const waiting = async () => (await context.ledger.waiting(100, 100)).map(({ modelName }) => modelName);
const find = async (name: string) => (await context.registry.find("acme", name))!;

test("a model gets a run when it is due, and its next time", async () => {
  await aTrainedModel("hourly", "@hourly", new Date(START + 3_600_000).toISOString());
  await scheduleDueRuns(context);
  expect(await waiting()).toEqual([]);
  nowMs = START + 5 * 3_600_000 + 1; // the trainer was off for some hours
  await scheduleDueRuns(context);
  expect(await find("hourly")).toMatchObject({
    training: { state: "SCHEDULED", finishedAt: null, nextRunAt: "2026-01-01T06:00:00.000Z" },
  });
  expect(await waiting()).toContain("hourly");
  const { runId } = (await find("hourly")).training;
  await scheduleDueRuns(context);
  expect((await find("hourly")).training.runId).toBe(runId);
});

test("a model that is due while its run works waits for its next time", async () => {
  await aTrainedModel("busy", "@hourly", new Date(START).toISOString());
  await context.registry.apply("acme", "busy", { kind: "scheduled", runId: "works" });
  nowMs = START + 1;
  await scheduleDueRuns(context);
  expect(await find("busy")).toMatchObject({ training: { runId: "works", nextRunAt: "2026-01-01T01:00:00.000Z" } });
});

test("a model that was changed since its run read it is trained again", async () => {
  await aTrainedModel("changed", "@once", null);
  await scheduleDueRuns(context);
  expect(await waiting()).toEqual([]);
  const { spec } = await find("changed");
  await context.registry.apply("acme", "changed", {
    kind: "changed",
    from: spec,
    spec,
    retrain: true,
    nextRunAt: null,
  });
  await scheduleDueRuns(context);
  expect(await waiting()).toContain("changed");
});

test("a due model waits until its customer's queue has room, and keeps no other customer's model waiting", async () => {
  for (const name of ["a", "b", "c"]) await aTrainedModel(name, "@hourly", new Date(START).toISOString());
  const others = { customer: "globex", spec: specOf("d", "wait"), nextRunAt: new Date(START).toISOString() };
  await context.registry.insert(database, others);
  await database.query("delete from shortlist.runs");
  context = { ...context, caps: { ...context.caps, queue: 2 } };
  nowMs = START + 1;
  await scheduleDueRuns(context);
  const begun = await waiting();
  expect([begun.length, begun.includes("d")]).toEqual([3, true]);
  await context.ledger.cancel((await find(begun.find((name) => name !== "d")!)).training.runId!);
  await scheduleDueRuns(context);
  const later = await waiting();
  expect(later).toHaveLength(3);
  expect([...new Set([...begun, ...later])].toSorted()).toEqual(["a", "b", "c", "d"]);
  expect(logs.filter(({ event }) => event === "upkeep_failed")).toEqual([]);
});

test("an error with one model is logged and does not affect the others", async () => {
  for (const name of ["a", "b"]) await aTrainedModel(name, "@hourly", new Date(START).toISOString());
  await database.query(`update shortlist.models set spec = replace(spec, '@hourly', '@never') where model_name = 'a'`);
  nowMs = START + 1;
  await scheduleDueRuns(context);
  expect(logs).toContainEqual(expect.objectContaining({ event: "upkeep_failed", model_name: "a" }));
  expect(await waiting()).toContain("b");
});

/** A user whom the customer erased at START. */
const erasedAtStart = (customer = "acme") =>
  database.query("insert into shortlist.erased_users (customer, hash, erased_at) values ($1, '0', $2)", [
    customer,
    new Date(START).toISOString(),
  ]);

test("rows that were kept before an erasure are removed, even without a run", async () => {
  const folder = await freshFolder();
  const folders = modelFolders(folder);
  const rows = join(await folders.makeModel("acme", "shop"), "interactions");
  await mkdir(rows);
  await utimes(rows, START / 1000 + 3600, START / 1000 + 3600); // by a run that had begun before the erasure
  await erasedAtStart();
  nowMs = START + 15 * DAY_MS + 1000;
  const upkeep = startUpkeep(
    { ...context, folders, registry: { ...context.registry, names: async () => [NAME] } },
    3_600_000,
  );
  await expect.poll(() => existsSync(rows)).toBe(false);
  await upkeep.stop();
});

test("a model that never trains again gets a run in time for an erasure, once", async () => {
  await context.registry.insert(database, { customer: "globex", spec: specOf("other", "wait"), nextRunAt: null });
  await aTrainedModel("once", "@once", null);
  await erasedAtStart();
  const upkeepAfter = async (days: number) => {
    nowMs = START + days * DAY_MS;
    const upkeep = startUpkeep(context, 3_600_000);
    await expect.poll(() => reconciled.length).toBeGreaterThan(0); // the last step of the sweep
    await upkeep.stop();
    reconciled = [];
    return await waiting();
  };
  expect(await upkeepAfter(22)).toEqual([]);
  expect(await upkeepAfter(23)).toEqual(["once"]);
  await database.query("delete from shortlist.runs");
  const { runId } = (await find("once")).training;
  await context.registry.apply("acme", "once", { kind: "failed", failure: FAILURE, runId: runId!, attempt: 0 });
  await context.deadlines.noteRemoved(
    { customer: "acme", modelName: "once" },
    (await context.deadlines.dueFor("acme"))!,
  );
  expect(await upkeepAfter(40)).not.toContain("once");
});

test("lists of erased users are written at every turn, and restored at the start", async () => {
  const upkeep = startUpkeep(context, 3_600_000);
  const lists = () => upkept.filter((what) => what === "settle" || what === "restore");
  await expect.poll(lists).toEqual(["settle", "restore"]);
  upkeep.wake();
  await expect.poll(lists).toEqual(["settle", "restore", "settle"]);
  await upkeep.stop();
});

test("a failed step of the sweep is logged, and the other steps are performed", async () => {
  await aTrainedModel("a", "@once", null);
  const restore = () => Promise.reject(new Error("no bucket"));
  const upkeep = startUpkeep({ ...context, erasures: { ...context.erasures, restore } }, 3_600_000);
  await expect.poll(() => reconciled).toEqual(["a"]);
  await upkeep.stop();
  expect(logs).toContainEqual(
    expect.objectContaining({ event: "upkeep_failed", error: expect.stringContaining("no bucket") }),
  );
});

test("the sweep removes folders of removed models", async () => {
  await aTrainedModel("known", "@once", null);
  const [known, gone] = [
    await context.folders.makeModel("acme", "known"),
    await context.folders.makeModel("acme", "gone"),
  ];
  const upkeep = startUpkeep(context, 3_600_000);
  await expect.poll(() => reconciled).toEqual(["known"]); // the last step
  await upkeep.stop();
  expect([existsSync(known), existsSync(gone)]).toEqual([true, false]);
});

test("the sweep tidies event files of customers without models; a damaged file keeps nobody else's", async () => {
  const old = [{ user: "u", item: "i", at: 0 }];
  for (const customer of ["broken", "other"])
    for (const first of [1, 2]) await putEvents(context.store, old, { customer, first });
  const [damaged] = await listEventFiles(context.store, "broken");
  await context.store.delete(damaged!.key);
  await context.store.putIfAbsent(damaged!.key, new Uint8Array(5), "application/gzip");
  const upkeep = startUpkeep(context, 3_600_000);
  const left = async () => (await listEventFiles(context.store, "other")).map(({ first }) => first);
  await expect.poll(left).toEqual([2]);
  await upkeep.stop();
  expect(logs).toContainEqual(expect.objectContaining({ event: "upkeep_failed", customer: "broken" }));
});

test("failed pointers are retried at every turn, and all models are reconciled when a trainer starts", async () => {
  for (const name of ["a", "b"]) await aTrainedModel(name, "@once", null);
  const upkeep = startUpkeep(context, 3_600_000);
  await expect.poll(() => reconciled.toSorted()).toEqual(["a", "b"]);
  upkeep.wake();
  await expect.poll(() => upkept.filter((what) => what === "retry")).toHaveLength(2);
  await upkeep.stop();
  expect(reconciled).toHaveLength(2);
});
