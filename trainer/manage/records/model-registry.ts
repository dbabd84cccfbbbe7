/**
 * The stored model records. Every change is computed by `modelAfter` and replaces only the revision that
 * was read, so that two trainers never overwrite each other's changes.
 */
import { assert } from "../../../shared/assert.ts";
import type { CanaryState } from "../../../shared/experiment/canary.ts";
import type { ModelStatus } from "../../../shared/live-pointer.ts";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { Database, Queries, SqlRow, SqlValue } from "./database.ts";
import { endWaiting, noteCanaryOfRun } from "./ended-runs.ts";
import { INSERT_MODEL, modelOfRow, SELECT_MODEL, UPDATE_MODEL, valuesOfModel } from "./model-row.ts";
import { type Model, type ModelEvent, modelAfter } from "./model-transitions.ts";

export type ModelRegistry = ReturnType<typeof modelRegistry>;

/** A model and a later one of the same name differ in createdAt. */
export type ModelIdentity = Pick<Model, "customer" | "modelName" | "createdAt">;

export type NewModel = {
  readonly customer: string;
  readonly spec: ModelSpec;
  /** Default: now. */
  readonly createdAt?: string;
  readonly nextRunAt: string | null;
  readonly request?: CreationRequest | undefined;
};

/** Identifies the request that created a model, so that its repetition is recognised. */
export type CreationRequest = {
  /** The Idempotency-Key. */
  readonly key: string;
  /** SHA-256 of the body. */
  readonly digest: string;
};

export type ListOptions = {
  readonly limit: number;
  /** Names after this one. */
  readonly afterName: string | undefined;
  readonly status: ModelStatus | undefined;
  /** Only names with this text, in upper or lower case. */
  readonly nameContains?: string | undefined;
};

const SELECT_NAMES = "select customer, model_name from shortlist.models where $1 = '' or customer = $1";
const CONFLICTS_MAX = 20;

export function modelRegistry(database: Database, nowMs: () => number) {
  const now = () => new Date(nowMs()).toISOString();

  const find = async (customer: string, modelName: string, queries: Queries = database) => {
    const where = "where customer = $1 and model_name = $2";
    const [row] = await queries.query(`${SELECT_MODEL} ${where}`, [customer, modelName]);
    return row && modelOfRow(row);
  };

  const first = async (condition: string, limit: number, values: readonly SqlValue[] = []) => {
    const query = `${SELECT_MODEL} where ${condition} order by updated_at limit $1`;
    return (await database.query(query, [limit, ...values])).map(modelOfRow);
  };

  const insertModel = async (queries: Queries, model: Model, request?: CreationRequest): Promise<boolean> => {
    const values = [...valuesOfModel(model), request?.key ?? null, request?.digest ?? null];
    return (await queries.query(INSERT_MODEL, values)).length > 0;
  };

  /** The model after the event. Undefined when there is no such model or the event does not apply (see modelAfter). */
  const apply = (customer: string, modelName: string, event: ModelEvent, queries: Queries = database) =>
    applyEvent({ find, queries, now }, { customer, modelName }, event);

  return {
    find,
    /** Stores a whole model, such as one from a backup. False when the customer has one of that name. */
    insertModel,
    /** The new model, or undefined when the customer has one of that name. */
    async insert(
      queries: Queries,
      { customer, spec, createdAt = now(), nextRunAt, request }: NewModel,
    ): Promise<Model | undefined> {
      const model = newModel(customer, spec, createdAt, nextRunAt);
      return (await insertModel(queries, model, request)) ? model : undefined;
    },
    /** The model that a request with this Idempotency-Key has created. `isSame`: its body was the same too. */
    async createdBy(customer: string, { key, digest }: CreationRequest) {
      const where = "where customer = $1 and idempotency_key = $2 and status <> 'DESTROYING'";
      const [row] = await database.query(`${SELECT_MODEL} ${where}`, [customer, key]);
      return row && { model: modelOfRow(row), isSame: row.request_digest === digest };
    },
    async list(customer: string, { limit, afterName, status, nameContains }: ListOptions) {
      const rows = await database.query(
        `${SELECT_MODEL} where customer = $1 and model_name > $2 and ($3 = '' or status = $3)
           and strpos(lower(model_name), lower($4)) > 0
         order by model_name limit $5`,
        [customer, afterName ?? "", status ?? "", nameContains ?? "", limit + 1],
      );
      const models = rows.slice(0, limit).map(modelOfRow);
      return { models, nextName: rows.length > limit ? models.at(-1)!.modelName : undefined };
    },
    apply,
    async countOf(customer: string, queries: Queries): Promise<number> {
      const rows = await queries.query("select count(*) as n from shortlist.models where customer = $1", [customer]);
      return Number(rows[0]!.n);
    },
    /**
     * Models that need a new run: their scheduled time has come, or they were changed since their last run. Those of
     * customers with `queueMax` runs are left out.
     */
    due: (at: string, queueMax: number, limit: number) => {
      const changed = "(finished_at is not null and spec_revision > run_spec_revision)";
      const runs = "(select count(*) from shortlist.runs where runs.customer = models.customer)";
      return first(`status <> 'DESTROYING' and (next_run_at <= $2 or ${changed}) and ${runs} < $3`, limit, [
        at,
        queueMax,
      ]);
    },
    /** Models that are to be removed. */
    destroying: (limit: number) => first("status = 'DESTROYING'", limit),
    /** Models that listen to events, of every customer. */
    listening: async (limit: number) =>
      (await first(`status <> 'DESTROYING' and spec like '%"Events"%'`, limit)).filter(isListening),
    /** Models with a canary that runs, of every customer. */
    withCanary: (limit: number) => first(`status <> 'DESTROYING' and last_canary like '%"state":"running"%'`, limit),
    /** Writes what is known of a canary to the model and to the run that has made its version. */
    async noteCanary({ customer, modelName }: ModelRef, state: CanaryState): Promise<void> {
      await database.transaction(async (queries) => {
        const noted = await apply(customer, modelName, { kind: "canary", state }, queries);
        if (noted !== undefined) await noteCanaryOfRun(queries, { customer, modelName }, state);
      });
    },
    /** Writes to the runs of a model that their versions do not wait to be a canary, except these. */
    endWaiting: (model: ModelRef, known: readonly (string | undefined)[]) => endWaiting(database, model, known, now()),
    /** Every model of a customer, or of all. */
    names: async (customer = "") => (await database.query(SELECT_NAMES, [customer])).map(nameOfRow),
    /** Whether this model still exists. A newer model of the same name does not count. */
    exists: async ({ customer, modelName, createdAt }: ModelIdentity) =>
      (await find(customer, modelName))?.createdAt === createdAt,
    /** Removes the rows of a model that is being deleted, with its runs. */
    async remove({ customer, modelName, createdAt }: ModelIdentity): Promise<void> {
      await database.transaction(async (queries) => {
        const model = await find(customer, modelName, queries);
        if (model?.createdAt !== createdAt) return;
        assert(model.status === "DESTROYING", `${modelName} is removed only when it is being deleted`);
        for (const table of ["runs", "ended_runs", "models"])
          await queries.query(`delete from shortlist.${table} where customer = $1 and model_name = $2`, [
            customer,
            modelName,
          ]);
      });
    },
  };
}

type Apply = {
  readonly find: (customer: string, modelName: string, queries: Queries) => Promise<Model | undefined>;
  readonly queries: Queries;
  readonly now: () => string;
};

async function applyEvent(
  { find, queries, now }: Apply,
  { customer, modelName }: ModelRef,
  event: ModelEvent,
): Promise<Model | undefined> {
  for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts++) {
    const model = await find(customer, modelName, queries);
    const next = model && modelAfter(model, event, now());
    if (next === undefined || next === model) return next;
    const written = await queries.query(UPDATE_MODEL, [...valuesOfModel(next), model!.revision]);
    if (written.length > 0) return next;
  }
  throw new Error(`Model ${customer}/${modelName} changed ${CONFLICTS_MAX} times while it was being changed.`);
}

const nameOfRow = (row: SqlRow) => ({ customer: String(row.customer), modelName: String(row.model_name) });

const isListening = ({ spec }: Model) => spec.schema.interaction.events !== undefined;

const newModel = (customer: string, spec: ModelSpec, now: string, nextRunAt: string | null): Model => ({
  customer,
  modelName: spec.model_name,
  revision: 1,
  status: "SCHEDULING",
  spec,
  specRevision: 1,
  version: null,
  itemIdType: null,
  createdAt: now,
  updatedAt: now,
  trainedAt: null,
  training: {
    state: "SCHEDULED",
    runId: null,
    attempt: 0,
    specRevision: 1,
    startedAt: null,
    finishedAt: null,
    nextRunAt,
    progress: null,
  },
  data: null,
  metrics: null,
  scenarioProblems: null,
  failure: null,
  lastCanary: null,
  earnings: null,
});
