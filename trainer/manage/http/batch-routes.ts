/** The calls on a model's batches. */
import type { Context } from "hono";
import { BatchBody, BatchRecord, batchFileKey, batchFilePath, FILES_HOURS } from "../../../shared/batch.ts";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import { parseWith, problemOf } from "../../../shared/parse-request.ts";
import { Problem } from "../../../shared/problem.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { readScenario } from "../../store/scenarios.ts";
import { type Batches, CUSTOMER_BATCHES_MAX, type StoredBatch } from "../records/batches.ts";
import type { Model } from "../records/model-transitions.ts";
import type { AppEnv, Route } from "./app.ts";
import { jsonOf } from "./read-request.ts";

export type BatchRoutesContext = {
  readonly batches: Batches;
  readonly batchWorkers: { wake(): void; cancel(batchId: string): void };
  readonly store: ObjectStore;
  readonly edgeUrl: string;
  /** The secret that the edge shares. */
  readonly forwardSecret: string;
  readonly nowMs: () => number;
};

type Find = (c: Context<AppEnv>) => Promise<Model>;

export function batchRoutes(context: BatchRoutesContext, find: Find): readonly Route[] {
  const { batches, batchWorkers, store } = context;
  const found = async (c: Context<AppEnv>) => {
    const model = await find(c);
    const batchId = c.req.param("batch_id")!;
    const batch = /^[0-9a-f-]{36}$/.test(batchId) ? await batches.find(model, batchId) : undefined;
    if (batch === undefined) throw new Problem("batch_not_found", "The model has no batch with this id.");
    return { model, batch };
  };
  const create = async (c: Context<AppEnv>) => {
    const model = await find(c);
    const body = parseWith(BatchBody, jsonOf(c.get("body"), c.req.header("content-type")));
    if (model.version === null)
      throw new Problem("model_not_active", `The model has no version yet: its status is ${model.status}.`);
    checkConnector(model.spec, body);
    if (body.scenario !== undefined) await readScenario(store, model, body.scenario);
    const batchId = await batches.create(model, body);
    if (batchId === undefined) {
      const detail = `At most ${CUSTOMER_BATCHES_MAX} batches can wait or run at once.`;
      throw new Problem("rate_limited", detail, { retryAfterSeconds: 60 });
    }
    batchWorkers.wake();
    const batch = await batches.find(model, batchId);
    return c.json(await shown(batch!, model, context), 202, {
      location: `/v0/models/${model.modelName}/batches/${batchId}`,
    });
  };
  const view = async (c: Context<AppEnv>) => {
    const { model, batch } = await found(c);
    return c.json(await shown(batch, model, context));
  };
  const stop = async (c: Context<AppEnv>) => {
    const { model, batch } = await found(c);
    await batches.stop(batch.batch_id);
    batchWorkers.cancel(batch.batch_id);
    return c.json(await shown((await batches.find(model, batch.batch_id))!, model, context));
  };
  const path = "/v0/models/:model_name/batches";
  return [
    { path, methods: { POST: create } },
    { path: `${path}/:batch_id`, methods: { GET: view, DELETE: stop } },
  ];
}

/** Throws Problem invalid_parameter for a connector that the model does not have. */
function checkConnector({ connector_configs: configs }: ModelSpec, { users }: BatchBody): void {
  if (typeof users === "string" || Array.isArray(users)) return;
  const { connector_id: id } = users.source;
  if (id === undefined ? configs.length === 1 : configs.some((config) => config.id === id)) return;
  const message = id === undefined ? "is needed: the model has several connectors" : "is no connector of the model";
  throw problemOf([{ pointer: "/users/source/connector_id", code: "invalid_parameter", message }]);
}

/** The record with links, until they end. */
async function shown(
  batch: StoredBatch,
  { customer, modelName }: Model,
  { edgeUrl, forwardSecret, nowMs }: BatchRoutesContext,
) {
  const untilMs = batch.ended_at === null ? 0 : Date.parse(batch.ended_at) + FILES_HOURS * 3_600_000;
  const files: { url: string; bytes: number }[] = [];
  for (const { name, bytes } of untilMs > nowMs() ? batch.files : []) {
    const key = batchFileKey(customer, modelName, batch.batch_id, name);
    files.push({ url: edgeUrl + (await batchFilePath(key, Math.floor(untilMs / 1000), forwardSecret)), bytes });
  }
  return BatchRecord.parse({ ...batch, files });
}
