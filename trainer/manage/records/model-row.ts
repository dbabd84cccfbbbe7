import type { ModelStatus } from "../../../shared/live-pointer.ts";
import type { TrainingState } from "../../../shared/model-record.ts";
import type { SqlRow, SqlValue } from "./database.ts";
import type { Model } from "./model-transitions.ts";

const COLUMNS = [
  "customer",
  "model_name",
  "revision",
  "status",
  "spec",
  "spec_revision",
  "version",
  "item_id_type",
  "created_at",
  "updated_at",
  "trained_at",
  "training_state",
  "run_id",
  "run_attempt",
  "run_spec_revision",
  "started_at",
  "finished_at",
  "next_run_at",
  "progress",
  "data",
  "metrics",
  "failure",
] as const;

export const INSERT_MODEL = `insert into shortlist.models (${COLUMNS.join(", ")})
  values (${COLUMNS.map((_, i) => `$${i + 1}`).join(", ")})`;

/** Parameters: the values of a model, and last the revision that the row must still have. */
export const UPDATE_MODEL = `update shortlist.models set ${COLUMNS.map((name, i) => `${name} = $${i + 1}`)
  .slice(2)
  .join(", ")}
  where customer = $1 and model_name = $2 and revision = $${COLUMNS.length + 1} returning revision`;

export const SELECT_MODEL = `select ${COLUMNS.join(", ")} from shortlist.models`;

/** The values of COLUMNS. */
export function valuesOfModel(model: Model): SqlValue[] {
  const { training } = model;
  return [
    model.customer,
    model.modelName,
    model.revision,
    model.status,
    JSON.stringify(model.spec),
    model.specRevision,
    model.version,
    model.itemIdType,
    model.createdAt,
    model.updatedAt,
    model.trainedAt,
    training.state,
    training.runId,
    training.attempt,
    training.specRevision,
    training.startedAt,
    training.finishedAt,
    training.nextRunAt,
    json(training.progress),
    json(model.data),
    json(model.metrics),
    json(model.failure),
  ];
}

/** A row of SELECT_MODEL as a model. Its JSON was checked before it was written. */
export function modelOfRow(row: SqlRow): Model {
  return {
    customer: String(row.customer),
    modelName: String(row.model_name),
    revision: Number(row.revision),
    status: row.status as ModelStatus,
    spec: parsed(row.spec)!,
    specRevision: Number(row.spec_revision),
    version: row.version as string | null,
    itemIdType: row.item_id_type as Model["itemIdType"],
    createdAt: timeOf(row.created_at)!,
    updatedAt: timeOf(row.updated_at)!,
    trainedAt: timeOf(row.trained_at),
    training: {
      state: row.training_state as TrainingState,
      runId: row.run_id as string | null,
      attempt: Number(row.run_attempt),
      specRevision: Number(row.run_spec_revision),
      startedAt: timeOf(row.started_at),
      finishedAt: timeOf(row.finished_at),
      nextRunAt: timeOf(row.next_run_at),
      progress: parsed(row.progress),
    },
    data: parsed(row.data),
    metrics: parsed(row.metrics),
    failure: parsed(row.failure),
  };
}

/** A timestamp column as RFC 3339 UTC. */
export const timeOf = (value: unknown): string | null =>
  value === null ? null : new Date(value as Date).toISOString();

/** A JSON column. */
export const parsed = <Value>(value: unknown): Value | null =>
  value === null ? null : (JSON.parse(value as string) as Value);

/** A value for a JSON column. */
export const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
