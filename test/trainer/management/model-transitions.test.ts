import { describe, expect, test } from "vitest";
import { isBusy, type Model, type ModelEvent, modelAfter } from "../../../trainer/management/model-transitions.ts";
import { aModel, NOW } from "../../fixtures/trainer-model.ts";

const LATER = "2026-01-02T00:00:00.000Z";
const METRICS = { method: "popular", baseline: {} };
const FAILURE = { stage: "fetching", code: "no", message: "No.", at: LATER, retryable: false };
const progress = { stage: "training", detail: null, rows: null, share: 0, elapsed_seconds: 0, remaining_seconds: null };

const working = { runId: "run-1", attempt: 1 };
const ended = { finishedAt: NOW, attempt: 1 };

/** A model in each status that can be, and what its run does then. */
const MODELS = {
  "SCHEDULING, waiting": aModel(),
  "FETCHING, working": aModel({ status: "FETCHING" }, { ...working, state: "FETCHING" }),
  "TRAINING, working": aModel({ status: "TRAINING" }, { ...working, state: "EVALUATING" }),
  "DEPLOYING, working": aModel({ status: "DEPLOYING" }, { ...working, state: "DEPLOYING" }),
  "ACTIVE, idle": aModel({ status: "ACTIVE", version: "v1" }, { ...ended, state: "IDLE" }),
  "ACTIVE, working": aModel({ status: "ACTIVE", version: "v1" }, { ...working, state: "TRAINING" }),
  "ERROR, idle": aModel({ status: "ERROR", failure: FAILURE }, { ...ended, state: "FAILED" }),
  DESTROYING: aModel({ status: "DESTROYING" }, working),
} as const;
type Name = keyof typeof MODELS;

const EVENTS = {
  scheduled: { kind: "scheduled", runId: "run-2" },
  started: { kind: "started", runId: "run-1", attempt: 2 },
  progress: { kind: "progress", state: "TRAINING", progress, ...working },
  data: { kind: "data", data: { users: 1 } as never, itemIdType: "string", ...working },
  published: { kind: "published", version: "v2", metrics: METRICS, ...working },
  failed: { kind: "failed", failure: FAILURE, ...working },
  refused: { kind: "failed", failure: FAILURE, idle: true, ...working },
  waiting: { kind: "waiting", failure: FAILURE, ...working },
  cancelled: { kind: "cancelled", ...working },
  activated: { kind: "activated", version: "v0", metrics: null },
  changed: { kind: "changed", from: aModel().spec, spec: aModel().spec, retrain: true, nextRunAt: null },
  due: { kind: "due", nextRunAt: LATER },
  destroying: { kind: "destroying" },
} as const satisfies Record<string, ModelEvent>;

/** Status after the event and `/` what the run does; `-` where the event has no place. */
const AFTER: Record<Name, Record<keyof typeof EVENTS, string>> = {
  "SCHEDULING, waiting": row(
    "- FETCHING/FETCHING - - - - - - - ACTIVE/SCHEDULED SCHEDULING/SCHEDULED SCHEDULING/SCHEDULED DESTROYING/SCHEDULED",
  ),
  "FETCHING, working": row(
    "- FETCHING/FETCHING TRAINING/TRAINING FETCHING/FETCHING ACTIVE/IDLE ERROR/FAILED ERROR/FAILED SCHEDULING/SCHEDULED SCHEDULING/SCHEDULED ACTIVE/FETCHING FETCHING/FETCHING FETCHING/FETCHING DESTROYING/FETCHING",
  ),
  "TRAINING, working": row(
    "- FETCHING/FETCHING TRAINING/TRAINING TRAINING/EVALUATING ACTIVE/IDLE ERROR/FAILED ERROR/FAILED SCHEDULING/SCHEDULED SCHEDULING/SCHEDULED ACTIVE/EVALUATING TRAINING/EVALUATING TRAINING/EVALUATING DESTROYING/EVALUATING",
  ),
  "DEPLOYING, working": row(
    "- FETCHING/FETCHING TRAINING/TRAINING DEPLOYING/DEPLOYING ACTIVE/IDLE ERROR/FAILED ERROR/FAILED SCHEDULING/SCHEDULED SCHEDULING/SCHEDULED ACTIVE/DEPLOYING DEPLOYING/DEPLOYING DEPLOYING/DEPLOYING DESTROYING/DEPLOYING",
  ),
  "ACTIVE, idle": row("ACTIVE/SCHEDULED - - - - - - - - ACTIVE/IDLE ACTIVE/IDLE ACTIVE/IDLE DESTROYING/IDLE"),
  "ACTIVE, working": row(
    "- ACTIVE/FETCHING ACTIVE/TRAINING ACTIVE/TRAINING ACTIVE/IDLE ACTIVE/FAILED ACTIVE/IDLE ACTIVE/SCHEDULED ACTIVE/IDLE ACTIVE/TRAINING ACTIVE/TRAINING ACTIVE/TRAINING DESTROYING/TRAINING",
  ),
  "ERROR, idle": row("SCHEDULING/SCHEDULED - - - - - - - - ACTIVE/FAILED ERROR/FAILED ERROR/FAILED DESTROYING/FAILED"),
  DESTROYING: row("- - - - - - - - - - - - DESTROYING/SCHEDULED"),
};

function row(cells: string) {
  const names = Object.keys(EVENTS) as (keyof typeof EVENTS)[];
  return Object.fromEntries(names.map((name, i) => [name, cells.split(" ")[i]])) as Record<keyof typeof EVENTS, string>;
}

for (const [name, model] of Object.entries(MODELS) as [Name, Model][])
  describe(name, () => {
    test.each(Object.entries(EVENTS))("%s", (event, value) => {
      const next = modelAfter(model, value, LATER);
      const found = next ? `${next.status}/${next.training.state}` : "-";
      expect(found).toBe(AFTER[name][event as keyof typeof EVENTS]);
      if (next && next !== model) expect([next.revision, next.updatedAt]).toEqual([model.revision + 1, LATER]);
    });
  });

test("a live version is never lost but to another version", () => {
  const model = MODELS["ACTIVE, working"];
  for (const event of Object.values(EVENTS)) expect(modelAfter(model, event, LATER)?.version ?? "v1").not.toBe(null);
  expect(modelAfter(model, EVENTS.failed, LATER)).toMatchObject({ version: "v1", failure: FAILURE });
});

test("only the newest attempt of the present run has a say", () => {
  const model = aModel({ status: "TRAINING" }, { runId: "run-1", attempt: 3, state: "TRAINING" });
  for (const stale of [
    { runId: "run-1", attempt: 2 },
    { runId: "run-0", attempt: 3 },
  ])
    for (const event of [
      EVENTS.progress,
      EVENTS.data,
      EVENTS.published,
      EVENTS.failed,
      EVENTS.waiting,
      EVENTS.cancelled,
    ])
      expect(modelAfter(model, { ...event, ...stale }, LATER)).toBe(undefined);
  expect(modelAfter(model, { ...EVENTS.started, attempt: 3 }, LATER)).toBe(undefined);
});

test("a change made from what is no longer so has no place", () => {
  const model = aModel();
  const other = { ...model.spec, train_schedule: "@daily" };
  expect(modelAfter({ ...model, spec: other }, EVENTS.changed, LATER)).toBe(undefined);
});

test("a run reads the spec when it starts, so a change while it waited needs no further run", () => {
  const changed = modelAfter(aModel(), EVENTS.changed, LATER)!;
  expect([changed.specRevision, changed.training.specRevision]).toEqual([2, 1]);
  const started = modelAfter(changed, { ...EVENTS.started, attempt: 1 }, LATER)!;
  expect(started.training.specRevision).toBe(2);
});

test("a run is over when it is published, has failed or was cancelled, and not while it waits for another attempt", () => {
  const model = MODELS["TRAINING, working"];
  const busyAfter = (event: ModelEvent) => isBusy(modelAfter(model, event, LATER)!);
  expect([EVENTS.published, EVENTS.failed, EVENTS.cancelled].map(busyAfter)).toEqual([false, false, false]);
  expect([EVENTS.waiting, EVENTS.progress].map(busyAfter)).toEqual([true, true]);
});
