/**
 * The stored model records and their versions. Every change is computed by `modelAfter` and replaces only the revision that
 * was read, so that two trainers never overwrite each other's changes.
 */
import { assert } from "../../../shared/assert.ts";
import type { ModelStatus } from "../../../shared/live-pointer.ts";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import type { RunMetrics } from "../../run/training-run.ts";
import type { Database, Queries, SqlValue } from "./database.ts";
import {
  INSERT_MODEL,
  json,
  modelOfRow,
  parsed,
  SELECT_MODEL,
  timeOf,
  UPDATE_MODEL,
  valuesOfModel,
} from "./model-row.ts";
import { type Model, type ModelEvent, modelAfter } from "./model-transitions.ts";

export type Version = {
  readonly version: string;
  readonly createdAt: string;
  readonly runId: string | null;
  readonly metrics: RunMetrics | null;
};

export type ModelRegistry = ReturnType<typeof modelRegistry>;

/** A model and a later one of the same name differ in createdAt. */
export type ModelIdentity = Pick<Model, "customer" | "modelName" | "createdAt">;

export type NewModel = {
  readonly customer: string;
  readonly spec: ModelSpec;
  /** Default: the present. */
  readonly createdAt?: string;
  readonly nextRunAt: string | null;
};

export type ListOptions = {
  readonly limit: number;
  /** Names after this one. */
  readonly afterName: string | undefined;
  readonly status: ModelStatus | undefined;
};

const CONFLICTS_MAX = 20;

export function modelRegistry(database: Database, nowMs: () => number) {
  const now = () => new Date(nowMs()).toISOString();

  const find: Find = async (customer, modelName, queries = database) => {
    const where = "where customer = $1 and model_name = $2";
    const [row] = await queries.query(`${SELECT_MODEL} ${where}`, [customer, modelName]);
    return row && modelOfRow(row);
  };

  const first = async (condition: string, limit: number, values: readonly SqlValue[] = []) => {
    const query = `${SELECT_MODEL} where ${condition} order by updated_at limit $1`;
    return (await database.query(query, [limit, ...values])).map(modelOfRow);
  };

  return {
    find,
    /** The new model, or undefined when the customer has one of that name. */
    async insert(
      queries: Queries,
      { customer, spec, createdAt = now(), nextRunAt }: NewModel,
    ): Promise<Model | undefined> {
      const model = newModel(customer, spec, createdAt, nextRunAt);
      const taken = "on conflict (customer, model_name) do nothing returning revision";
      const rows = await queries.query(`${INSERT_MODEL} ${taken}`, valuesOfModel(model));
      return rows.length === 0 ? undefined : model;
    },
    async list(customer: string, { limit, afterName, status }: ListOptions) {
      const rows = await database.query(
        `${SELECT_MODEL} where customer = $1 and model_name > $2 and ($3 = '' or status = $3)
         order by model_name limit $4`,
        [customer, afterName ?? "", status ?? "", limit + 1],
      );
      const models = rows.slice(0, limit).map(modelOfRow);
      return { models, nextName: rows.length > limit ? models.at(-1)!.modelName : undefined };
    },
    /** The model after the event. Undefined when there is no such model or the event does not apply (see modelAfter). */
    apply(
      customer: string,
      modelName: string,
      event: ModelEvent,
      queries: Queries = database,
    ): Promise<Model | undefined> {
      const change = (within: Queries) => changeModel(within, { find, customer, modelName, event, now });
      // The record and the list of versions change together.
      return event.kind === "published" && queries === database ? database.transaction(change) : change(queries);
    },
    ...versionQueries(database),
    /** Models that need a new run: their scheduled time has come, or they were changed since their last run. */
    due: (at: string, limit: number) => {
      const changed = "(finished_at is not null and spec_revision > run_spec_revision)";
      return first(`status <> 'DESTROYING' and (next_run_at <= $2 or ${changed})`, limit, [at]);
    },
    /** Models that are to be removed. */
    destroying: (limit: number) => first("status = 'DESTROYING'", limit),
    /** Every model of every customer. */
    async names() {
      const rows = await database.query("select customer, model_name from shortlist.models");
      return rows.map((row) => ({ customer: String(row.customer), modelName: String(row.model_name) }));
    },
    /** Whether this model still exists. A newer model of the same name does not count. */
    isThere: async ({ customer, modelName, createdAt }: ModelIdentity) =>
      (await find(customer, modelName))?.createdAt === createdAt,
    /** Removes the rows of a model that is being deleted, with its runs and versions. */
    async remove({ customer, modelName, createdAt }: ModelIdentity): Promise<void> {
      await database.transaction(async (queries) => {
        const model = await find(customer, modelName, queries);
        if (model?.createdAt !== createdAt) return;
        assert(model.status === "DESTROYING", `${modelName} is removed only when it is being deleted`);
        for (const table of ["versions", "runs", "models"])
          await queries.query(`delete from shortlist.${table} where customer = $1 and model_name = $2`, [
            customer,
            modelName,
          ]);
      });
    },
  };
}

type Find = (customer: string, modelName: string, queries?: Queries) => Promise<Model | undefined>;

type ModelChange = {
  readonly find: Find;
  readonly customer: string;
  readonly modelName: string;
  readonly event: ModelEvent;
  readonly now: () => string;
};

async function changeModel(queries: Queries, change: ModelChange): Promise<Model | undefined> {
  const { find, customer, modelName, event, now } = change;
  for (let conflicts = 0; conflicts < CONFLICTS_MAX; conflicts++) {
    const model = await find(customer, modelName, queries);
    const next = model && modelAfter(model, event, now());
    if (next === undefined || next === model) return next;
    const written = await queries.query(UPDATE_MODEL, [...valuesOfModel(next), model!.revision]);
    if (written.length === 0) continue;
    if (event.kind === "published") await insertVersion(queries, next, event.runId);
    return next;
  }
  throw new Error(`Model ${customer}/${modelName} changed ${CONFLICTS_MAX} times while it was being changed.`);
}

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
  failure: null,
});

function versionQueries(database: Database) {
  const select =
    "select version, created_at, run_id, metrics from shortlist.versions where customer = $1 and model_name = $2";
  return {
    /** Newest first. */
    async versions(customer: string, modelName: string, limit: number): Promise<readonly Version[]> {
      const order = "order by created_at desc, version limit $3";
      const rows = await database.query(`${select} ${order}`, [customer, modelName, limit]);
      return rows.map(versionOfRow);
    },
    async findVersion(customer: string, modelName: string, version: string): Promise<Version | undefined> {
      const [row] = await database.query(`${select} and version = $3`, [customer, modelName, version]);
      return row && versionOfRow(row);
    },
  };
}

const versionOfRow = (row: Readonly<Record<string, unknown>>): Version => ({
  version: String(row.version),
  createdAt: timeOf(row.created_at)!,
  runId: row.run_id as string | null,
  metrics: parsed(row.metrics),
});

/** Rows per model, newest first: many more than the versions that its bucket keeps. */
const VERSIONS_KEPT = 1000;

/** Training on the same rows with the same settings gives the same version again, which is no error. */
async function insertVersion(queries: Queries, model: Model, runId: string): Promise<void> {
  await queries.query(
    `insert into shortlist.versions (customer, model_name, version, run_id, created_at, metrics)
     values ($1, $2, $3, $4, $5, $6) on conflict (customer, model_name, version) do nothing`,
    [model.customer, model.modelName, model.version, runId, model.updatedAt, json(model.metrics)],
  );
  const own = "customer = $1 and model_name = $2";
  await queries.query(
    `delete from shortlist.versions where ${own} and version not in (select version from shortlist.versions
     where ${own} order by created_at desc, version limit ${VERSIONS_KEPT})`,
    [model.customer, model.modelName],
  );
}
