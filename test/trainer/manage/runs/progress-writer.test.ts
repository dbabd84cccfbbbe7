import { expect, test } from "vitest";
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

/** A writer onto one model in memory, whose every write takes until the next turn. */
function setUp(fails = false) {
  let model: Model = aModel({ status: "FETCHING" }, { ...ATTEMPT, state: "FETCHING" });
  const events: ModelEvent[] = [];
  const seen = { settled: [] as string[], logs: [] as string[], events, model: () => model };
  const registry = {
    apply: async (_customer: string, _name: string, event: ModelEvent) => {
      await new Promise((done) => setImmediate(done));
      events.push(event);
      if (fails) throw new Error("database down");
      model = modelAfter(model, event, NOW) ?? model;
      return model;
    },
  } as unknown as ModelRegistry;
  const pointers = { settle: () => void seen.settled.push(model.training.state) };
  const log = ({ event }: { event: string }) => void seen.logs.push(event);
  return { ...seen, writer: progressWriter(ATTEMPT, model, { registry, pointers, log }) };
}

test("of a flood of progress the last is written, and far from all of it", async () => {
  const { writer, events, model } = setUp();
  for (let rows = 1; rows <= 1000; rows++) writer.write(progress(rows));
  writer.write(data);
  await writer.end();
  expect(model().training.progress?.rows).toBe(1000);
  expect(model().data).toEqual(data.data);
  expect(events.length).toBeLessThan(5);
});

test("the edge is told when the state changes, not with every step", async () => {
  const { writer, settled } = setUp();
  for (const rows of [1, 2, 100, 101]) {
    writer.write(progress(rows));
    await writer.end();
  }
  expect(settled).toEqual(["FETCHING", "TRAINING"]);
});

test("a database that fails is logged, and the run goes on", async () => {
  const { writer, logs } = setUp(true);
  writer.write(progress(1));
  await writer.end();
  expect(logs).toEqual(["progress_not_written"]);
});
