import * as z from "zod";
import { Canary, CanaryState } from "./experiment/canary.ts";
import { Earnings, Holdout } from "./experiment/holdout.ts";
import { Label } from "./label.ts";
import { ModelStatus } from "./live-pointer.ts";
import { ModelSchema, Objective } from "./model-spec.ts";

export const TrainingState = z.enum(["IDLE", "SCHEDULED", "FETCHING", "TRAINING", "EVALUATING", "DEPLOYING", "FAILED"]);
export type TrainingState = z.infer<typeof TrainingState>;

const Time = z.string().max(40); // RFC 3339 UTC

/** The progress of a run. `share` is the finished fraction of the stage's work, 0 to 1, if it is known. */
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
  /** The number of items or users that have a value. */
  present: z.number(),
  distinct: z.number().nullable(),
});

/** Limit on the days in `recent_days`. */
export const RECENT_DAYS = 90;

/** Counts from the last successful reading of the source. */
export const DataSummary = z.strictObject({
  users: z.number(),
  items: z.number(),
  interactions: z.number(),
  positives: z.number(),
  sessions: z.number().optional().meta({ description: "Absent without session_id, and where the data are a sample." }),
  rejected_rows: z
    .record(z.string(), z.number())
    .meta({ description: "Rows left out, by reason; warnings say what each reason means." }),
  duplicate_rows: z.number(),
  catalog_items: z.number().optional().meta({ description: "Items in the source of items. Absent without one." }),
  chosen_catalog_items: z.number().optional().meta({ description: "Those of them that interactions have too." }),
  /** Rows of erased users; absent if no user was erased. */
  erased_rows: z.number().optional(),
  events: z.number().optional().meta({
    description: "Events that were exported when the data were read. Those of a user in one call count once.",
  }),
  /** How the sources were read: ids of jobs, and which part was read. Absent if there is nothing to report. */
  sources: z.array(z.string()).optional(),
  from: Time.nullable(),
  to: Time.nullable(),
  recent_days: z
    .strictObject({ from: z.string().max(10), interactions: z.array(z.number()).max(RECENT_DAYS) })
    .optional()
    .meta({
      description:
        `Interactions of each day (UTC) from this date on, for the last ${RECENT_DAYS} days up to the newest interaction at most. Absent ` +
        "where there are more interactions than the trainer's memory holds.",
    }),
  item_attributes: z.array(AttributeDescription),
  user_attributes: z.array(AttributeDescription),
  warnings: z.array(z.string()),
});
export type DataSummary = z.infer<typeof DataSummary>;

/** The scenarios of a model with parts that do not fit its live version, and what is wrong with these parts. */
export const ScenarioProblems = z.array(z.strictObject({ scenario: z.string(), problems: z.array(z.string()) }));
export type ScenarioProblems = z.infer<typeof ScenarioProblems>;

/** A model as list and view return it. */
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
  train_after_events: z.int().optional(),
  items_lag_hours: z.number().optional(),
  objective: Objective.optional(),
  canary: Canary.optional(),
  holdout: Holdout.optional(),
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
  /** Metrics of the live version by name, such as `ndcg@10`, and those of popularity under `baseline`. */
  metrics: z.looseObject({ method: z.string(), baseline: z.record(z.string(), z.number()) }).nullable(),
  scenario_problems: ScenarioProblems.nullable().meta({
    description:
      "The scenarios with parts that do not fit the live version. Rank calls leave these parts out. Null until the scenarios have been " +
      "checked against the live version.",
  }),
  failure: Failure.nullable(),
  last_canary: CanaryState.nullable().meta({
    description: "The version that serves a share of the users now, or that did so last. Null without one.",
  }),
  earnings: Earnings.nullable().meta({
    description:
      "What the model earns in all, by the users who are held out. It is counted every hour. Null without `holdout`.",
  }),
});
export type ModelRecord = z.infer<typeof ModelRecord>;

/** The status of a model without a live version, by the state of its run. */
const STATUS_OF_STATE: Readonly<Partial<Record<TrainingState, ModelStatus>>> = {
  SCHEDULED: "SCHEDULING",
  FETCHING: "FETCHING",
  TRAINING: "TRAINING",
  EVALUATING: "TRAINING",
  DEPLOYING: "DEPLOYING",
  FAILED: "ERROR",
};

/** The model's status after its run has entered a state. A retrain never leaves ACTIVE, and nothing leaves DESTROYING. */
export function statusAfter(status: ModelStatus, state: TrainingState, hasLiveVersion: boolean): ModelStatus {
  if (status === "DESTROYING") return "DESTROYING";
  if (hasLiveVersion) return "ACTIVE";
  return STATUS_OF_STATE[state] ?? status;
}
