import { expect, test } from "vitest";
import {
  isBusy,
  type Model,
  type ModelEvent,
  modelAfter,
} from "../../../../trainer/manage/records/model-transitions.ts";
import { aModel, NOW } from "../../../fixtures/trainer-model.ts";

const LATER = "2026-01-02T00:00:00.000Z";
const METRICS = { method: "popular", baseline: {} };
const FAILURE = { stage: "fetching", code: "no", message: "No.", at: LATER, retryable: false };
const working = { runId: "run-1", attempt: 1 };
const ended = { finishedAt: NOW, attempt: 1 };

/** A model in each possible status and training state. */
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
  progress: { kind: "progress", state: "TRAINING", ...working },
  data: { kind: "data", data: { users: 1 } as never, ...working },
  published: { kind: "published", version: "v2", itemIdType: "integer", metrics: METRICS, ...working },
  failed: { kind: "failed", failure: FAILURE, ...working },
  refused: { kind: "failed", failure: FAILURE, idle: true, ...working },
  waiting: { kind: "waiting", failure: FAILURE, ...working },
  cancelled: { kind: "cancelled", ...working },
  activated: { kind: "activated", version: "v0", itemIdType: "string", metrics: null },
  changed: { kind: "changed", from: aModel().spec, spec: aModel().spec, retrain: true, nextRunAt: null },
  due: { kind: "due", nextRunAt: LATER },
  destroying: { kind: "destroying" },
  starved: { kind: "starved", failure: FAILURE, ...working },
} as const satisfies Record<string, ModelEvent>;

/** `status/training state` after each event, in the order of EVENTS; `-` where the event does not apply. */
const AFTER: Record<Name, string> = {
  "SCHEDULING, waiting": `- FETCHING/FETCHING - - - - - - - ACTIVE/SCHEDULED SCHEDULING/SCHEDULED
    SCHEDULING/SCHEDULED DESTROYING/SCHEDULED -`,
  "FETCHING, working": `- FETCHING/FETCHING TRAINING/TRAINING FETCHING/FETCHING ACTIVE/IDLE ERROR/FAILED ERROR/FAILED
    SCHEDULING/SCHEDULED SCHEDULING/SCHEDULED ACTIVE/FETCHING FETCHING/FETCHING FETCHING/FETCHING DESTROYING/FETCHING SCHEDULING/SCHEDULED`,
  "TRAINING, working": `- FETCHING/FETCHING TRAINING/TRAINING TRAINING/EVALUATING ACTIVE/IDLE ERROR/FAILED ERROR/FAILED
    SCHEDULING/SCHEDULED SCHEDULING/SCHEDULED ACTIVE/EVALUATING TRAINING/EVALUATING TRAINING/EVALUATING
    DESTROYING/EVALUATING SCHEDULING/SCHEDULED`,
  "DEPLOYING, working": `- FETCHING/FETCHING TRAINING/TRAINING DEPLOYING/DEPLOYING ACTIVE/IDLE ERROR/FAILED
    ERROR/FAILED SCHEDULING/SCHEDULED SCHEDULING/SCHEDULED ACTIVE/DEPLOYING DEPLOYING/DEPLOYING DEPLOYING/DEPLOYING
    DESTROYING/DEPLOYING SCHEDULING/SCHEDULED`,
  "ACTIVE, idle": "ACTIVE/SCHEDULED - - - - - - - - ACTIVE/IDLE ACTIVE/IDLE ACTIVE/IDLE DESTROYING/IDLE -",
  "ACTIVE, working": `- ACTIVE/FETCHING ACTIVE/TRAINING ACTIVE/TRAINING ACTIVE/IDLE ACTIVE/FAILED ACTIVE/IDLE
    ACTIVE/SCHEDULED ACTIVE/IDLE ACTIVE/TRAINING ACTIVE/TRAINING ACTIVE/TRAINING DESTROYING/TRAINING ACTIVE/IDLE`,
  "ERROR, idle": "SCHEDULING/SCHEDULED - - - - - - - - ACTIVE/FAILED ERROR/FAILED ERROR/FAILED DESTROYING/FAILED -",
  DESTROYING: "- - - - - - - - - - - - DESTROYING/SCHEDULED -",
};

for (const [name, model] of Object.entries(MODELS) as [Name, Model][]) {
  const expected = AFTER[name].split(/\s+/);
  test.each(Object.entries(EVENTS).map(([event, value], i) => [event, expected[i], value] as const))(
    `${name}: after %s it is %s`,
    (_event, after, value) => {
      const next = modelAfter(model, value, LATER);
      expect(next ? `${next.status}/${next.training.state}` : "-").toBe(after);
      if (next && next !== model) expect([next.revision, next.updatedAt]).toEqual([model.revision + 1, LATER]);
    },
  );
}

test("a live version is only ever replaced by another version", () => {
  const model = MODELS["ACTIVE, working"];
  for (const event of Object.values(EVENTS)) expect(modelAfter(model, event, LATER)?.version ?? "v1").not.toBe(null);
  expect(modelAfter(model, EVENTS.failed, LATER)).toMatchObject({ version: "v1", failure: FAILURE });
});

test("the type of item ids is the live version's", () => {
  const model = { ...MODELS["ACTIVE, working"], itemIdType: "string" as const };
  const typeAfter = (event: ModelEvent) => modelAfter(model, event, LATER)!.itemIdType;
  expect([EVENTS.data, EVENTS.failed].map(typeAfter)).toEqual(["string", "string"]);
  expect(typeAfter(EVENTS.published)).toBe("integer");
  expect(modelAfter({ ...model, itemIdType: "integer" }, EVENTS.activated, LATER)!.itemIdType).toBe("string");
});

test("only events of the newest attempt of the present run apply", () => {
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

test("a change computed from an old spec does not apply", () => {
  const model = aModel();
  const other = { ...model.spec, train_schedule: "@daily" };
  expect(modelAfter({ ...model, spec: other }, EVENTS.changed, LATER)).toBe(undefined);
});

test("a change of the spec while a run waits needs no further run", () => {
  const changed = modelAfter(aModel(), EVENTS.changed, LATER)!;
  expect([changed.specRevision, changed.training.specRevision]).toEqual([2, 1]);
  const started = modelAfter(changed, { ...EVENTS.started, attempt: 1 }, LATER)!;
  expect(started.training.specRevision).toBe(2);
});

test("a run ends when it is published, failed or cancelled, and not while it waits for another attempt", () => {
  const model = MODELS["TRAINING, working"];
  const busyAfter = (event: ModelEvent) => isBusy(modelAfter(model, event, LATER)!);
  expect([EVENTS.published, EVENTS.failed, EVENTS.cancelled].map(busyAfter)).toEqual([false, false, false]);
  expect([EVENTS.waiting, EVENTS.progress].map(busyAfter)).toEqual([true, true]);
});

test("scenarios are checked again after each change of the version or of a scenario", () => {
  const problems = [{ scenario: "home", problems: ["x"] }];
  const checked = modelAfter(MODELS["ACTIVE, working"], { kind: "scenarios_checked", revision: 1, problems }, LATER)!;
  expect(checked.scenarioProblems).toEqual(problems);
  for (const event of [EVENTS.published, EVENTS.activated, { kind: "scenarios_changed" } as const])
    expect(modelAfter(checked, event, LATER)!.scenarioProblems).toBeNull();
  expect(modelAfter(checked, EVENTS.progress, LATER)!.scenarioProblems).toEqual(problems);
  expect(modelAfter(checked, { kind: "scenarios_checked", revision: 1, problems: [] }, LATER)).toBeUndefined();
});
