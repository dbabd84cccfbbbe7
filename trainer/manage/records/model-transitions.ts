import { isDeepStrictEqual } from "node:util";
import type { CanaryState } from "../../../shared/experiment/canary.ts";
import type { Earnings } from "../../../shared/experiment/holdout.ts";
import type { ItemIdType } from "../../../shared/ids.ts";
import type { ModelStatus } from "../../../shared/live-pointer.ts";
import {
  type DataSummary,
  type Failure,
  type Progress,
  type ScenarioProblems,
  statusAfter,
  type TrainingState,
} from "../../../shared/model-record.ts";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import type { PublishedVersion, RunMetrics } from "../../run/training-run.ts";

/** A stored model. Times are RFC 3339 UTC. */
export type Model = {
  readonly customer: string;
  readonly modelName: string;
  /** Grows with every change. A write succeeds only over the revision that was read. */
  readonly revision: number;
  readonly status: ModelStatus;
  /** As sent. Connectors refer to secrets and contain none. */
  readonly spec: ModelSpec;
  /** Grows when the data or the schema changes, so that the model needs a new run. */
  readonly specRevision: number;
  /** The live version. */
  readonly version: string | null;
  /** Type of the live version's item ids. */
  readonly itemIdType: ItemIdType | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly trainedAt: string | null;
  readonly training: Training;
  readonly data: DataSummary | null;
  readonly metrics: RunMetrics | null;
  /** Null: the scenarios have to be checked against the live version. */
  readonly scenarioProblems: ScenarioProblems | null;
  readonly failure: Failure | null;
  /** The version that serves a share of the users now, or that did so last. */
  readonly lastCanary: CanaryState | null;
  /** What the model earns by its holdout. */
  readonly earnings: Earnings | null;
};

export type Training = {
  readonly state: TrainingState;
  /** The newest run. It has ended when `finishedAt` is not null. */
  readonly runId: string | null;
  readonly attempt: number;
  readonly specRevision: number;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly nextRunAt: string | null;
  /** Kept with the run, not in the row of the model. */
  readonly progress: Progress | null;
};

/** One attempt of a run. Its events count only while it is the newest attempt. */
export type Attempt = { readonly runId: string; readonly attempt: number };

/** An event of an attempt. */
export type RunEvent =
  | { readonly kind: "started" }
  | { readonly kind: "progress"; readonly state: TrainingState }
  | { readonly kind: "data"; readonly data: DataSummary }
  | ({ readonly kind: "published" } & PublishedVersion)
  /** The run ended without a new version. `idle`: the ending is no fault, such as the gate's refusal. */
  | { readonly kind: "failed"; readonly failure: Failure; readonly idle?: boolean }
  /** There was too little to learn from. The model waits for more, and its version, if it has one, stays. */
  | { readonly kind: "starved"; readonly failure: Failure }
  /** The attempt ended, and the run waits for another one. */
  | { readonly kind: "waiting"; readonly failure: Failure | null }
  /** The run was stopped on purpose, such as by a change of the schema. */
  | { readonly kind: "cancelled" };

export type ModelEvent =
  | { readonly kind: "scheduled"; readonly runId: string }
  | (RunEvent & Attempt)
  | {
      readonly kind: "activated";
      readonly version: string;
      readonly itemIdType: ItemIdType | null;
      readonly metrics: RunMetrics | null;
    }
  | { readonly kind: "canary"; readonly state: CanaryState }
  | { readonly kind: "earnings"; readonly earnings: Earnings | null }
  /** A scenario was stored or deleted. */
  | { readonly kind: "scenarios_changed" }
  /** `revision` is the model's revision before the scenarios were read. The result does not apply to a later one. */
  | { readonly kind: "scenarios_checked"; readonly revision: number; readonly problems: ScenarioProblems }
  | SpecChange
  | { readonly kind: "due"; readonly nextRunAt: string | null }
  | { readonly kind: "destroying" };

export type SpecChange = {
  readonly kind: "changed";
  /** The spec that the change was computed from. The change does not apply once the spec differs. */
  readonly from: ModelSpec;
  readonly spec: ModelSpec;
  readonly retrain: boolean;
  readonly nextRunAt: string | null;
};

/** Whether a run of the model waits or works. */
export const isBusy = (model: Model): boolean => model.training.runId !== null && model.training.finishedAt === null;

/**
 * The model after an event, or undefined when the event does not apply: a model that is being deleted takes no other event, a
 * second run is not scheduled before the first one's end, and events of old attempts are ignored.
 */
export function modelAfter(model: Model, event: ModelEvent, now: string): Model | undefined {
  if (model.status === "DESTROYING") return event.kind === "destroying" ? model : undefined;
  if ("attempt" in event && !isCurrent(model, event)) return undefined;
  const change = changeBy(model, event, now);
  if (change === undefined) return undefined;
  const { training, ...rest } = change;
  const next = { ...model, ...rest, training: { ...model.training, ...training } };
  const status = rest.status ?? statusAfter(model.status, next.training.state, next.version !== null);
  return { ...next, status, updatedAt: now, revision: model.revision + 1 };
}

type Change = Partial<Omit<Model, "training">> & { readonly training?: Partial<Training> };

function isCurrent(model: Model, { runId, attempt, kind }: Attempt & { kind: string }): boolean {
  if (!isBusy(model) || model.training.runId !== runId) return false;
  return kind === "started" ? attempt > model.training.attempt : attempt === model.training.attempt;
}

function changeBy(model: Model, event: ModelEvent, now: string): Change | undefined {
  switch (event.kind) {
    case "scheduled":
      return isBusy(model) ? undefined : { failure: null, training: newRun(event.runId, model.specRevision) };
    case "started":
      // The attempt reads the spec now, with every change that was made while the run waited.
      return {
        training: {
          attempt: event.attempt,
          specRevision: model.specRevision,
          startedAt: now,
          state: "FETCHING",
          progress: null,
        },
      };
    case "progress":
      return { training: { state: event.state } };
    case "data":
      return { data: event.data };
    case "published":
      if (event.canary && event.canary.state !== "live")
        return { trainedAt: now, failure: null, training: { ...finished(now), state: "IDLE" } };
      return {
        version: event.version,
        itemIdType: event.itemIdType,
        metrics: event.metrics,
        scenarioProblems: null,
        trainedAt: now,
        failure: null,
        training: { ...finished(now), state: "IDLE" },
      };
    case "failed":
      return {
        failure: event.failure,
        training: { ...finished(now), state: event.idle && model.version !== null ? "IDLE" : "FAILED" },
      };
    case "starved":
      return {
        failure: event.failure,
        training: { ...finished(now), state: model.version === null ? "SCHEDULED" : "IDLE" },
      };
    case "waiting":
      return { failure: event.failure, training: { state: "SCHEDULED", progress: null } };
    case "cancelled":
      return { training: { ...cancelled(now), state: model.version === null ? "SCHEDULED" : "IDLE" } };
    case "activated":
      return {
        version: event.version,
        itemIdType: event.itemIdType,
        metrics: event.metrics,
        scenarioProblems: null,
        status: "ACTIVE",
      };
    case "canary":
      return { lastCanary: event.state };
    case "earnings":
      return { earnings: event.earnings };
    case "scenarios_changed":
      return { scenarioProblems: null };
    case "scenarios_checked":
      return model.revision === event.revision ? { scenarioProblems: event.problems } : undefined;
    case "changed":
      return isDeepStrictEqual(model.spec, event.from) ? changed(model, event) : undefined;
    case "due":
      return { training: { nextRunAt: event.nextRunAt } };
    case "destroying":
      return { status: "DESTROYING" };
  }
}

const newRun = (runId: string, specRevision: number) => ({
  state: "SCHEDULED" as const,
  runId,
  attempt: 0,
  specRevision,
  startedAt: null,
  finishedAt: null,
  progress: null,
});

const finished = (now: string) => ({ finishedAt: now, progress: null });

/** Spec revision 0 says that no run has read the present spec, so that the model is trained again. */
const cancelled = (now: string) => ({ ...finished(now), specRevision: 0 });

const changed = (model: Model, event: SpecChange) => ({
  spec: event.spec,
  specRevision: model.specRevision + (event.retrain ? 1 : 0),
  training: { nextRunAt: event.nextRunAt },
});
