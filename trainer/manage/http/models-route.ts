/** Requests and answers of the calls on models. app.ts has verified the caller; models/model-actions.ts performs the actions. */
import { createHash } from "node:crypto";
import type { Context } from "hono";
import * as z from "zod";
import { parseListQuery } from "../../../shared/api.ts";
import { clipped } from "../../../shared/clipped.ts";
import { forEachConcurrently } from "../../../shared/concurrently.ts";
import { reportKey } from "../../../shared/manifest.ts";
import type { ModelRecord } from "../../../shared/model-record.ts";
import { ModelName, ModelSpec, TrainBody } from "../../../shared/model-spec.ts";
import { parseWith, problemOf } from "../../../shared/parse-request.ts";
import { Problem } from "../../../shared/problem.ts";
import { withoutSecrets } from "../../log/redaction.ts";
import { checkConnectorConfig } from "../../read/connectors/connector-config.ts";
import { secretPrefixOf } from "../../settings.ts";
import { checkHoldout } from "../../store/holdouts.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import { readManifest, versionNames } from "../../store/versions.ts";
import * as actions from "../models/model-actions.ts";
import { checkSchedule, ScheduleError } from "../models/schedule.ts";
import type { DryRuns } from "../questions/dry-runs.ts";
import type { Evaluations } from "../questions/evaluations.ts";
import { endedRuns } from "../records/ended-runs.ts";
import type { Model } from "../records/model-transitions.ts";
import { versionFigures } from "../runs/version-metrics.ts";
import type { AppEnv, Route } from "./app.ts";
import { type BatchRoutesContext, batchRoutes } from "./batch-routes.ts";
import { evaluationAnswer } from "./evaluation-answer.ts";
import { experimentRoutes } from "./experiment-routes.ts";
import { HIDE_SOURCES, ModelPatch, patchedSpec } from "./model-patch.ts";
import { jsonOf, queryParameters } from "./read-request.ts";
import { scenarioRoutes } from "./scenario-routes.ts";

export type RoutesContext = actions.ActionContext &
  BatchRoutesContext & {
    /** Memory of an isolate for versions. */
    readonly edgeMemoryBytes: number;
    readonly dryRuns: DryRuns;
    readonly evaluations: Evaluations;
  };

const VERSIONS_MAX = 100;
const READS_AT_ONCE = 8;
/** How long DELETE waits for the removal before it answers 202. */
const DESTROY_WAIT_MS = 10_000;

export function modelRoutes(context: RoutesContext): readonly Route[] {
  const record = (model: Model) => recordOfModel(model, context.edgeUrl);
  const find = (c: Context<AppEnv>) => actions.findModel(context, refOf(c));

  const list = async (c: Context<AppEnv>) => {
    const { cursor, ...parameters } = parseListQuery(new URL(c.req.url).searchParams);
    const options = { ...parameters, afterName: cursor && nameOfCursor(cursor) };
    const { models, nextName } = await context.registry.list(c.get("caller").customer, options);
    const next = nextName === undefined ? {} : { next_cursor: cursorOfName(nextName) };
    return c.json({ models: models.map(record), ...next });
  };
  const change = async (c: Context<AppEnv>) => {
    const patch = parseWith(ModelPatch, bodyOf(c), HIDE_SOURCES);
    if (patch.holdout) await requireHoldout(revisedSpec(await find(c), patch, context), refOf(c), context);
    return c.json(record(await actions.changeModel(context, refOf(c), (model) => revisedSpec(model, patch, context))));
  };
  const destroy = async (c: Context<AppEnv>) => {
    const ref = refOf(c);
    const name = { model_name: ref.modelName };
    await context.batches.stopAll(ref);
    if (await actions.destroyModel(context, ref, DESTROY_WAIT_MS))
      return c.json({ message: `Model with name '${ref.modelName}' was successfully deleted`, ...name });
    const message = `Model with name '${ref.modelName}' is being deleted`;
    return c.json({ message, ...name, status: "DESTROYING" }, 202);
  };
  const train = async (c: Context<AppEnv>) => {
    const { ignore } = c.get("body").length > 0 ? parseWith(TrainBody, bodyOf(c)) : {};
    return c.json(record(await actions.trainNow(context, refOf(c), ignore)), 202);
  };
  const activate = async (c: Context<AppEnv>) => {
    requireEmpty(c);
    return c.json(record(await actions.activateVersion(context, await find(c), c.req.param("version")!)));
  };
  const readReport = async (c: Context<AppEnv>) => {
    const { customer, modelName, version } = requireVersion(await find(c));
    const report = await context.store.get(reportKey(customer, modelName, version));
    if (report === undefined)
      throw new Problem("artifact_unavailable", `The report of version ${version} is not there.`, {
        retryAfterSeconds: 60,
      });
    return c.body(report.bytes as Uint8Array<ArrayBuffer>, 200, { "content-type": "application/json" });
  };
  const evaluate = async (c: Context<AppEnv>) => {
    const model = await find(c);
    const body = bodyOf(c);
    return c.json(await evaluationAnswer(requireVersion(model), body, { ...context, caller: c.req.raw.signal }));
  };

  const model = "/v0/models/:model_name";
  return [
    { path: "/v0/models", methods: { GET: list, POST: (c) => create(c, context) }, checksQuery: true },
    { path: model, methods: { GET: async (c) => c.json(record(await find(c))), PATCH: change, DELETE: destroy } },
    { path: `${model}/train`, methods: { POST: train } },
    {
      path: `${model}/runs`,
      methods: { GET: async (c) => c.json({ runs: await endedRuns(context.database, await find(c)) }) },
    },
    { path: `${model}/versions`, methods: { GET: async (c) => c.json(await versionsOf(await find(c), context)) } },
    { path: `${model}/versions/:version/activate`, methods: { POST: activate } },
    { path: `${model}/evaluation`, methods: { GET: readReport, POST: evaluate } },
    ...scenarioRoutes(context, find),
    ...batchRoutes(context, find),
    ...experimentRoutes(context, find),
  ];
}

async function create(c: Context<AppEnv>, context: RoutesContext): Promise<Response> {
  const { customer } = c.get("caller");
  const dry = parseWith(CreateQuery, queryParameters(c.req.url)).dry_run === "true";
  const spec = parseWith(ModelSpec, bodyOf(c), HIDE_SOURCES);
  checkScheduleOf(spec, context);
  checkConnectors(spec, customer);
  await requireHoldout(spec, { customer, modelName: spec.model_name }, context);
  if (dry) return c.json(await context.dryRuns.run(spec, customer, c.req.raw.signal));
  const { model, isReplay } = await actions.createModel(context, { customer, spec, request: requestOf(c) });
  // With the pointer written, a rank call that follows is answered with model_not_active instead of model_not_found.
  await context.pointers.whenReconciled(model, actions.POINTER_WAIT_MS);
  return c.json(recordOfModel(model, context.edgeUrl), 201, {
    location: `/v0/models/${model.modelName}`,
    ...(isReplay ? { "idempotent-replayed": "true" } : {}),
  });
}

/** Undefined without an Idempotency-Key. The edge has refused keys of a wrong form. */
function requestOf(c: Context<AppEnv>) {
  const key = c.req.header("idempotency-key");
  return key === undefined ? undefined : { key, digest: createHash("sha256").update(c.get("body")).digest("hex") };
}

const CreateQuery = z.strictObject({ dry_run: z.enum(["true", "false"]).optional() });

function revisedSpec({ spec, customer }: Model, patch: z.infer<typeof ModelPatch>, context: RoutesContext): ModelSpec {
  const next = patchedSpec(spec, patch);
  if (next.train_schedule !== spec.train_schedule) checkScheduleOf(next, context);
  if (patch.connector_configs !== undefined) checkConnectors(next, customer);
  return next;
}

/** Throws Problem version_not_found, experiment_too_large. */
async function requireHoldout({ holdout }: ModelSpec, model: ModelRef, context: RoutesContext): Promise<void> {
  const { store, nowMs, edgeMemoryBytes } = context;
  if (holdout) await checkHoldout(store, model, holdout, { nowMs: nowMs(), edgeMemoryBytes });
}

function checkConnectors({ connector_configs }: ModelSpec, customer: string): void {
  for (const [i, config] of connector_configs.entries())
    checkConnectorConfig(config, { at: `/connector_configs/${i}`, secretPrefix: secretPrefixOf(customer) });
}

function checkScheduleOf(spec: ModelSpec, { caps }: RoutesContext): void {
  try {
    checkSchedule(spec.train_schedule, caps.scheduleSecondsMin);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw problemOf([{ pointer: "/train_schedule", code: "invalid_parameter", message: error.message }]);
  }
}

async function versionsOf(model: Model, { store, database, nowMs }: RoutesContext) {
  const names = await versionNames(store, model, { live: model.version, nowMs: nowMs() });
  const runs = await endedRuns(database, model);
  const canaryOf = (name: string) => runs.find(({ version }) => version === name)?.canary ?? null;
  const found = new Map<string, object>();
  await forEachConcurrently(names.slice(-VERSIONS_MAX), READS_AT_ONCE, async (version) => {
    const [manifest, figures] = await Promise.all([
      readManifest(store, model, version),
      versionFigures(store, model, version),
    ]);
    // Without a manifest, a sweep has removed the version meanwhile.
    if (manifest === undefined) return;
    const about = { version, created_at: manifest.created_at, live: version === model.version };
    found.set(version, { ...about, ...figures, canary: canaryOf(version) });
  });
  return { versions: names.toReversed().flatMap((version) => found.get(version) ?? []) };
}

/** The model with its live version. Throws Problem model_not_active. */
function requireVersion({ customer, modelName, status, version }: Model) {
  if (version !== null) return { customer, modelName, version };
  const detail = `The model ${JSON.stringify(modelName)} has no version yet: its status is ${status}.`;
  throw new Problem("model_not_active", detail, { retryAfterSeconds: 30, extra: { model_status: status } });
}

const bodyOf = (c: Context<AppEnv>): unknown => jsonOf(c.get("body"), c.req.header("content-type"));

/** Throws Problem model_not_found for an invalid name, which the database may not even accept in a query (NUL). */
function refOf(c: Context<AppEnv>): { readonly customer: string; readonly modelName: string } {
  const modelName = c.req.param("model_name")!;
  if (ModelName.safeParse(modelName).success) return { customer: c.get("caller").customer, modelName };
  const shownName = JSON.stringify(clipped(modelName, 64));
  throw new Problem("model_not_found", `There is no model with the name ${shownName}.`);
}

/** Refuses a body other than `{}`, for calls whose path says everything. */
function requireEmpty(c: Context<AppEnv>): void {
  if (c.get("body").length > 0) parseWith(z.strictObject({}), bodyOf(c));
}

const cursorOfName = (name: string) => Buffer.from(JSON.stringify([1, name])).toString("base64url");

function nameOfCursor(cursor: string): string {
  try {
    const [format, name] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (format === 1 && ModelName.safeParse(name).success) return name as string;
  } catch {
    // refused below
  }
  throw new Problem("invalid_parameter", "The cursor was not issued by this API.", {
    errors: [{ pointer: "/cursor", code: "invalid_parameter", message: "was not issued by this API" }],
  });
}

/** The record of a model, as list and view show it. */
function recordOfModel(model: Model, edgeUrl: string): ModelRecord {
  const { spec, training } = model;
  return {
    model_name: model.modelName,
    model_url: `${edgeUrl}/v0/models/${model.modelName}`,
    status: model.status,
    created_at: model.createdAt,
    updated_at: model.updatedAt,
    trained_at: model.trainedAt,
    label: spec.schema.interaction.label,
    input_schema: spec.schema,
    connectors: spec.connector_configs.map(withoutSecrets),
    train_schedule: spec.train_schedule,
    ...(spec.train_after_events && { train_after_events: spec.train_after_events }),
    ...(spec.items_lag_hours !== undefined && { items_lag_hours: spec.items_lag_hours }),
    ...(spec.objective && { objective: spec.objective }),
    ...(spec.canary && { canary: spec.canary }),
    ...(spec.holdout && { holdout: spec.holdout }),
    version: model.version,
    item_id_type: model.itemIdType,
    training: {
      state: training.state,
      run_id: training.runId,
      started_at: training.startedAt,
      finished_at: training.finishedAt,
      next_run_at: training.nextRunAt,
      progress: training.progress,
    },
    data: model.data,
    metrics: model.metrics,
    scenario_problems: model.scenarioProblems,
    failure: model.failure,
    last_canary: model.lastCanary,
    earnings: model.earnings,
  };
}
