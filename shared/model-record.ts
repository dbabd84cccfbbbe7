import { z } from "zod";
import { ModelStatus } from "./live-pointer.ts";
import { Label, ModelSchema } from "./model-spec.ts";

export const TrainingState = z.enum(["IDLE", "SCHEDULED", "FETCHING", "TRAINING", "EVALUATING", "DEPLOYING", "FAILED"]);
export type TrainingState = z.infer<typeof TrainingState>;

const Time = z.string().max(40); // RFC 3339 UTC

/** How far a run is. `share` is 0…1 of the stage's work where that is known. */
export const Progress = z.strictObject({
  stage: z.string(),
  detail: z.string().nullable(),
  rows: z.number().nullable(),
  share: z.number().min(0).max(1).nullable(),
  elapsed_seconds: z.number(),
  remaining_seconds: z.number().nullable(),
});
export type Progress = z.infer<typeof Progress>;

export const Failure = z.strictObject({
  stage: z.string(),
  code: z.string(),
  message: z.string(),
  at: Time,
  retryable: z.boolean(),
});
export type Failure = z.infer<typeof Failure>;

export const AttributeDescription = z.strictObject({
  name: z.string(),
  type: z.string(),
  inferred: z.boolean(),
  /** Items or users that have a value. */
  present: z.number(),
  distinct: z.number().nullable(),
});

/** What the last successful reading of the source gave. */
export const DataSummary = z.strictObject({
  users: z.number(),
  items: z.number(),
  interactions: z.number(),
  positives: z.number(),
  rejected_rows: z
    .record(z.string(), z.number())
    .meta({ description: "Rows left out, by reason; warnings say what each reason means." }),
  duplicate_rows: z.number(),
  /** Rows of users who were erased; absent when nobody was. */
  erased_rows: z.number().optional(),
  /** How the sources were read: ids of jobs, and which part of them; absent when there is nothing to tell. */
  sources: z.array(z.string()).optional(),
  from: Time.nullable(),
  to: Time.nullable(),
  item_attributes: z.array(AttributeDescription),
  user_attributes: z.array(AttributeDescription),
  warnings: z.array(z.string()),
});
export type DataSummary = z.infer<typeof DataSummary>;

/** What list and view return. */
export const ModelRecord = z.strictObject({
  model_name: z.string(),
  model_url: z.string(),
  status: ModelStatus,
  created_at: Time,
  updated_at: Time,
  trained_at: Time.nullable(),
  label: Label,
  input_schema: ModelSchema,
  /** Without secrets. */
  connectors: z.array(z.record(z.string(), z.unknown())),
  train_schedule: z.string(),
  version: z.string().nullable(),
  item_id_type: z.enum(["string", "integer"]).nullable(),
  training: z.strictObject({
    state: TrainingState,
    run_id: z.string().nullable(),
    started_at: Time.nullable(),
    finished_at: Time.nullable(),
    next_run_at: Time.nullable(),
    progress: Progress.nullable(),
  }),
  data: DataSummary.nullable(),
  /** Of the live version, by metric name such as `ndcg@10`, next to popularity's under `baseline`. */
  metrics: z.looseObject({ method: z.string(), baseline: z.record(z.string(), z.number()) }).nullable(),
  failure: Failure.nullable(),
});
export type ModelRecord = z.infer<typeof ModelRecord>;

/** The stage of a run and what it means for the model that has no live version yet. */
const STATUS_OF_STATE: Readonly<Partial<Record<TrainingState, ModelStatus>>> = {
  SCHEDULED: "SCHEDULING",
  FETCHING: "FETCHING",
  TRAINING: "TRAINING",
  EVALUATING: "TRAINING",
  DEPLOYING: "DEPLOYING",
  FAILED: "ERROR",
};

/** The status after a run has entered a state. A retrain never leaves ACTIVE, and nothing leaves DESTROYING. */
export function statusAfter(status: ModelStatus, state: TrainingState, hasLiveVersion: boolean): ModelStatus {
  if (status === "DESTROYING") return "DESTROYING";
  if (hasLiveVersion) return "ACTIVE";
  return STATUS_OF_STATE[state] ?? status;
}
