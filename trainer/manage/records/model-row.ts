import type { ModelStatus } from "../../../shared/live-pointer.ts";
import type { TrainingState } from "../../../shared/model-record.ts";
import type { SqlRow, SqlValue } from "./database.ts";
import type { Model } from "./model-transitions.ts";

/** The columns, with their values in a model. The first two are the key. */
const COLUMNS: readonly (readonly [name: string, value: (model: Model) => SqlValue])[] = [
  ["customer", (model) => model.customer],
  ["model_name", (model) => model.modelName],
  ["revision", (model) => model.revision],
  ["status", (model) => model.status],
  ["spec", (model) => json(model.spec)],
  ["spec_revision", (model) => model.specRevision],
  ["version", (model) => model.version],
  ["item_id_type", (model) => model.itemIdType],
  ["created_at", (model) => model.createdAt],
  ["updated_at", (model) => model.updatedAt],
  ["trained_at", (model) => model.trainedAt],
  ["training_state", ({ training }) => training.state],
  ["run_id", ({ training }) => training.runId],
  ["run_attempt", ({ training }) => training.attempt],
  ["run_spec_revision", ({ training }) => training.specRevision],
  ["started_at", ({ training }) => training.startedAt],
  ["finished_at", ({ training }) => training.finishedAt],
  ["next_run_at", ({ training }) => training.nextRunAt],
  ["data", (model) => json(model.data)],
  ["metrics", (model) => json(model.metrics)],
  ["scenario_problems", (model) => json(model.scenarioProblems ?? null)], // absent in backups of older releases
  ["failure", (model) => json(model.failure)],
  ["last_canary", (model) => json(model.lastCanary ?? null)], // as above
  ["earnings", (model) => json(model.earnings ?? null)], // as above
];
const NAMES = COLUMNS.map(([name]) => name);

/** Parameters: the values of a model, and the Idempotency-Key and digest of the request. Returns no row if the name is taken. */
export const INSERT_MODEL = `insert into shortlist.models (${NAMES.join(", ")}, idempotency_key, request_digest)
  values (${NAMES.map((_, i) => `$${i + 1}`).join(", ")}, $${NAMES.length + 1}, $${NAMES.length + 2})
  on conflict (customer, model_name) do nothing returning revision`;

/** Parameters: the values of a model, and last the revision that the row must still have. */
export const UPDATE_MODEL = `update shortlist.models set ${NAMES.map((name, i) => `${name} = $${i + 1}`)
  .slice(2)
  .join(", ")}
  where customer = $1 and model_name = $2 and revision = $${NAMES.length + 1} returning revision`;

/** The progress is in the row of the present attempt, which is rewritten several times a second. */
export const SELECT_MODEL = `select ${NAMES.join(", ")}, request_digest, (select progress from shortlist.runs
    where runs.run_id = models.run_id and runs.attempt = models.run_attempt and models.finished_at is null) as progress
  from shortlist.models`;

/** The values of the columns. */
export const valuesOfModel = (model: Model): SqlValue[] => COLUMNS.map(([, value]) => value(model));

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
    scenarioProblems: parsed(row.scenario_problems),
    failure: parsed(row.failure),
    lastCanary: parsed(row.last_canary),
    earnings: parsed(row.earnings),
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
