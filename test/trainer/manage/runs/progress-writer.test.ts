import { expect, test } from "vitest";
import type { Progress } from "../../../../shared/model-record.ts";
import type { ModelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { type Model, type ModelEvent, modelAfter } from "../../../../trainer/manage/records/model-transitions.ts";
import { progressWriter } from "../../../../trainer/manage/runs/progress-writer.ts";
import { aModel, NOW } from "../../../fixtures/trainer-model.ts";

const ATTEMPT = { runId: "run-1", attempt: 1 };
const progress = (rows: number) => ({
  kind: "progress" as const,
  state: rows < 100 ? ("FETCHING" as const) : ("TRAINING" as const),
  progress: { stage: "s", detail: null, rows, share: null, elapsed_seconds: 0, remaining_seconds: null },
});
const data = { kind: "data" as const, data: { users: 1 } as never };

/** A writer to one model in memory, each of whose writes takes one turn of the event loop. */
function setUp(fails = false) {
  let model: Model = aModel({ status: "FETCHING" }, { ...ATTEMPT, state: "FETCHING" });
  const events: ModelEvent[] = [];
  const notes: Progress[] = [];
  const seen = { notes, reconciled: [] as string[], logs: [] as string[], events, model: () => model };
  const registry = {
    apply: async (_customer: string, _name: string, event: ModelEvent) => {
      await new Promise((done) => setImmediate(done));
      events.push(event);
      if (fails) throw new Error("database down");
      model = modelAfter(model, event, NOW) ?? model;
      return model;
    },
  } as unknown as ModelRegistry;
  const ledger = { note: async (_: unknown, noted: Progress) => void notes.push(noted) };
  const pointers = { reconcile: () => void seen.reconciled.push(model.training.state) };
  const log = ({ event }: { event: string }) => void seen.logs.push(event);
  return { ...seen, writer: progressWriter(ATTEMPT, model, { registry, ledger, pointers, log }) };
}

test("of many progress messages the last is written, and most others are skipped", async () => {
  const { writer, events, notes, model } = setUp();
  for (let rows = 1; rows <= 1000; rows++) writer.write(progress(rows));
  writer.write(data);
  await writer.end();
  expect(notes.at(-1)?.rows).toBe(1000);
  expect(model().data).toEqual(data.data);
  expect(events.length + notes.length).toBeLessThan(9);
});

test("progress within a state does not change the row of the model", async () => {
  const { writer, events, notes } = setUp();
  for (const rows of [1, 2, 3, 100, 101]) {
    writer.write(progress(rows));
    await writer.end();
  }
  expect(events).toHaveLength(2);
  expect(notes).toHaveLength(5);
});

test("the pointer is reconciled when the state changes, not with every message", async () => {
  const { writer, reconciled } = setUp();
  for (const rows of [1, 2, 100, 101]) {
    writer.write(progress(rows));
    await writer.end();
  }
  expect(reconciled).toEqual(["FETCHING", "TRAINING"]);
});

test("a failed write is logged, and the run goes on", async () => {
  const { writer, logs } = setUp(true);
  writer.write(progress(1));
  await writer.end();
  expect(logs).toEqual(["progress_not_written"]);
});
