import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { DataSummary } from "../../../../shared/model-record.ts";
import { ModelSpec } from "../../../../shared/model-spec.ts";
import { type EventRunContext, scheduleEventRuns } from "../../../../trainer/manage/models/event-runs.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { modelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import type { RunEvent } from "../../../../trainer/manage/records/model-transitions.ts";
import { runLedger } from "../../../../trainer/manage/records/run-ledger.ts";
import { EVENTS_SCHEMA, putEvents } from "../../../fixtures/event-files.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { listeningSpec } from "../../../fixtures/trainer-spec.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const HOUR_MS = 3_600_000;
const PUBLISHED = { kind: "published", version: "v1", itemIdType: "string", metrics: null as never } as const;
const FAILED = { stage: "fetching", message: "No.", at: "2026-01-01T00:00:00Z", retryable: false };
let database: Database;
let context: EventRunContext;
let nowMs: number;
let lists: number;
let stored: number;

beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ["models", "runs"]) await database.query(`delete from shortlist.${table}`);
  nowMs = START;
  lists = 0;
  stored = 0;
  const store = memoryStore(() => nowMs);
  context = {
    database,
    store: {
      ...store,
      list(prefix) {
        lists++;
        return store.list(prefix);
      },
    },
    registry: modelRegistry(database, () => nowMs),
    ledger: runLedger(database, "ours", 30),
    workers: { wake: () => undefined },
    caps: { models: 100, runs: 2, queue: 50, callsPerMinute: 600, scheduleSecondsMin: 3600 },
    nowMs: () => nowMs,
    log: ({ error }) => {
      throw new Error(String(error));
    },
  };
});

/** A model whose run has read this many events and has ended. */
async function aModel(read: number, end: object, spec: ModelSpec = ONLY_EVENTS) {
  const run = { runId: crypto.randomUUID(), attempt: 1 };
  await context.registry.insert(database, { customer: "acme", spec, nextRunAt: null });
  await context.registry.apply("acme", spec.model_name, { kind: "scheduled", runId: run.runId });
  await context.registry.apply("acme", spec.model_name, { kind: "started", ...run });
  const data = { events: read } as DataSummary;
  if (read > 0) await context.registry.apply("acme", spec.model_name, { kind: "data", data, ...run });
  await context.registry.apply("acme", spec.model_name, { ...(end as RunEvent), ...run });
  nowMs += 1000;
}
const ONLY_EVENTS = ModelSpec.parse({
  model_name: "shop",
  connector_configs: [{ type: "Events" }],
  schema: EVENTS_SCHEMA,
});

/** Exports this many further events. */
async function store(count: number): Promise<void> {
  const events = Array.from({ length: count }, () => ({ user: "u", item: "i" }));
  await putEvents(context.store, events, { first: stored + 1 });
  stored += count;
}

async function isScheduled(): Promise<boolean> {
  await scheduleEventRuns(context);
  return (await context.ledger.waiting(100, 100)).length > 0;
}

test("a model that had too few events trains when a file has come since", async () => {
  await store(1);
  nowMs += 1000;
  await aModel(0, { kind: "starved", failure: { ...FAILED, code: "not_enough_events" } });
  expect(await isScheduled()).toBe(false);
  await store(1);
  expect(await isScheduled()).toBe(true);
  await scheduleEventRuns(context); // its run waits already
});

test("a small model trains when its events have doubled", async () => {
  await store(10);
  await aModel(10, PUBLISHED);
  await store(9);
  expect(await isScheduled()).toBe(false);
  await store(1);
  expect(await isScheduled()).toBe(true);
});

test("a small model whose run has failed does not train again by itself", async () => {
  await aModel(10, PUBLISHED);
  await context.registry.apply("acme", "shop", { kind: "scheduled", runId: "second" });
  await context.registry.apply("acme", "shop", { kind: "started", runId: "second", attempt: 1 });
  const failure = { ...FAILED, code: "internal" };
  await context.registry.apply("acme", "shop", { kind: "failed", failure, runId: "second", attempt: 1 });
  await store(100);
  expect(await isScheduled()).toBe(false);
});

test("a large model trains after the events that its specification names, and not sooner than a schedule might", async () => {
  await store(20_000);
  await aModel(20_000, PUBLISHED, { ...ONLY_EVENTS, train_after_events: 5 });
  await store(4);
  nowMs += HOUR_MS;
  expect(await isScheduled()).toBe(false);
  await store(1);
  nowMs -= HOUR_MS;
  expect(await isScheduled()).toBe(false);
  nowMs += HOUR_MS;
  expect(await isScheduled()).toBe(true);
});

test("events beside another source cause no run unless the specification says so", async () => {
  await aModel(1, PUBLISHED, listeningSpec("shop", "wait"));
  await store(100);
  nowMs += HOUR_MS;
  expect([await isScheduled(), lists]).toEqual([false, 0]);
});
