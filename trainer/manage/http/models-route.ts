/** Requests and answers of the calls on models. app.ts has verified the caller; models/model-actions.ts performs the actions. */
import type { Context } from "hono";
import { z } from "zod";
import { parseListQuery } from "../../../shared/api.ts";
import { reportKey } from "../../../shared/manifest.ts";
import type { ModelRecord } from "../../../shared/model-record.ts";
import { ModelName, ModelSpec } from "../../../shared/model-spec.ts";
import { parseWith, problemOf } from "../../../shared/parse-request.ts";
import { Problem } from "../../../shared/problem.ts";
import { withoutSecrets } from "../../log/redaction.ts";
import { checkConnectorConfig } from "../../read/connectors/connector-config.ts";
import { secretPrefixOf } from "../../settings.ts";
import { readManifest, versionNames } from "../../store/versions.ts";
import * as actions from "../models/model-actions.ts";
import { checkSchedule, ScheduleError } from "../models/schedule.ts";
import type { DryRuns } from "../questions/dry-runs.ts";
import type { Evaluations } from "../questions/evaluations.ts";
import { performOnce } from "../records/idempotency.ts";
import type { Model } from "../records/model-transitions.ts";
import { evaluationAnswer } from "./evaluation-answer.ts";
import type { Caller } from "./forwarded.ts";
import { HIDE_SOURCES, ModelPatch, patchedSpec } from "./model-patch.ts";
import { jsonOf, queryParameters } from "./read-request.ts";

export type AppEnv = { Variables: { requestId: string; caller: Caller; body: Uint8Array } };

type RouteName =
  | "list"
  | "create"
  | "view"
  | "change"
  | "destroy"
  | "train"
  | "versions"
  | "activate"
  | "evaluation"
  | "evaluate";

export const ROUTES: readonly { readonly path: string; readonly methods: Readonly<Record<string, RouteName>> }[] = [
  { path: "/v0/models", methods: { GET: "list", POST: "create" } },
  { path: "/v0/models/:model_name", methods: { GET: "view", PATCH: "change", DELETE: "destroy" } },
  { path: "/v0/models/:model_name/train", methods: { POST: "train" } },
  { path: "/v0/models/:model_name/versions", methods: { GET: "versions" } },
  { path: "/v0/models/:model_name/versions/:version/activate", methods: { POST: "activate" } },
  { path: "/v0/models/:model_name/evaluation", methods: { GET: "evaluation", POST: "evaluate" } },
];

/** The calls that take query parameters and check them. app.ts refuses query parameters of all others. */
export const WITH_QUERY: ReadonlySet<string> = new Set<RouteName>(["create", "list"]);

export type ModelRoutes = Readonly<Record<RouteName, (c: Context<AppEnv>) => Promise<Response>>>;

export type RoutesContext = actions.ActionContext & {
  readonly edgeUrl: string;
  readonly dryRuns: DryRuns;
  readonly evaluations: Evaluations;
};

const VERSIONS_MAX = 100;
/** How long DELETE waits for the removal before it answers 202. */
const DESTROY_WAIT_MS = 10_000;

export function modelRoutes(context: RoutesContext): ModelRoutes {
  const record = (model: Model) => recordOfModel(model, context.edgeUrl);
  const find = (c: Context<AppEnv>) => actions.findModel(context, refOf(c));
  return {
    create: (c) => create(c, context),
    async list(c) {
      const { limit, cursor, status } = parseListQuery(new URL(c.req.url).searchParams);
      const options = { limit, status, afterName: cursor && nameOfCursor(cursor) };
      const { models, nextName } = await context.registry.list(c.get("caller").customer, options);
      const next = nextName === undefined ? {} : { next_cursor: cursorOfName(nextName) };
      return c.json({ models: models.map(record), ...next });
    },
    view: async (c) => c.json(record(await find(c))),
    async change(c) {
      const patch = parseWith(ModelPatch, jsonOf(c.get("body"), c.req.header("content-type")), HIDE_SOURCES);
      return c.json(record(await actions.changeModel(context, refOf(c), (model) => revisedSpec(model, patch))));
    },
    async destroy(c) {
      const ref = refOf(c);
      if (!(await actions.destroyModel(context, ref, DESTROY_WAIT_MS)))
        return c.json(
          {
            message: `Model with name '${ref.modelName}' is being deleted`,
            model_name: ref.modelName,
            status: "DESTROYING",
          },
          202,
        );
      return c.json({
        message: `Model with name '${ref.modelName}' was successfully deleted`,
        model_name: ref.modelName,
      });
    },
    async train(c) {
      requireEmpty(c);
      return c.json(record(await actions.trainNow(context, refOf(c))), 202);
    },
    async versions(c) {
      return c.json({ versions: await versionsOf(await find(c), context) });
    },
    async activate(c) {
      requireEmpty(c);
      return c.json(record(await actions.activateVersion(context, await find(c), c.req.param("version")!)));
    },
    async evaluation(c) {
      const model = await find(c);
      if (model.version === null) throw notActive(model);
      const report = await context.store.get(reportKey(model.customer, model.modelName, model.version));
      if (report === undefined)
        throw new Problem("artifact_unavailable", `The report of version ${model.version} is not there.`, {
          retryAfterSeconds: 60,
        });
      return c.body(report.bytes as Uint8Array<ArrayBuffer>, 200, { "content-type": "application/json" });
    },
    async evaluate(c) {
      const model = await find(c);
      const body = jsonOf(c.get("body"), c.req.header("content-type"));
      if (model.version === null) throw notActive(model);
      return c.json(
        await evaluationAnswer({ ...model, version: model.version }, body, { ...context, caller: c.req.raw.signal }),
      );
    },
  };
}

async function create(c: Context<AppEnv>, context: RoutesContext): Promise<Response> {
  const { customer } = c.get("caller");
  const dry = parseWith(CreateQuery, queryParameters(c.req.url)).dry_run === "true";
  const body = c.get("body");
  const spec = parseWith(ModelSpec, jsonOf(body, c.req.header("content-type")), HIDE_SOURCES);
  checkScheduleOf(spec);
  checkConnectors(spec, customer);
  if (dry) return c.json(await context.dryRuns.run(spec, customer, c.req.raw.signal));
  const request = { customer, key: c.req.header("idempotency-key") ?? null, body };
  const { modelName, answer, isReplay } = await performOnce(context.database, request, async (note) => {
    await actions.createModel(context, { customer, spec }, (queries, model) =>
      note(queries, model.modelName, JSON.stringify(recordOfModel(model, context.edgeUrl))),
    );
  });
  // With the pointer written, a rank call that follows is answered with model_not_active instead of model_not_found.
  await context.pointers.whenReconciled({ customer, modelName }, actions.POINTER_WAIT_MS);
  return c.body(answer, 201, {
    "content-type": "application/json",
    location: `/v0/models/${modelName}`,
    ...(isReplay ? { "idempotent-replayed": "true" } : {}),
  });
}

const CreateQuery = z.strictObject({ dry_run: z.enum(["true", "false"]).optional() });

function revisedSpec({ spec, customer }: Model, patch: z.infer<typeof ModelPatch>): ModelSpec {
  const next = patchedSpec(spec, patch);
  checkScheduleOf(next);
  if (patch.connector_configs !== undefined) checkConnectors(next, customer);
  return next;
}

function checkConnectors({ connector_configs }: ModelSpec, customer: string): void {
  for (const [i, config] of connector_configs.entries())
    checkConnectorConfig(config, { at: `/connector_configs/${i}`, secretPrefix: secretPrefixOf(customer) });
}

function checkScheduleOf(spec: ModelSpec): void {
  try {
    checkSchedule(spec.train_schedule);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    throw problemOf([{ pointer: "/train_schedule", code: "invalid_parameter", message: error.message }]);
  }
}

async function versionsOf(model: Model, { registry, store, nowMs }: RoutesContext) {
  const { customer, modelName } = model;
  // The store knows which versions can be activated, the registry when most of them were created and how good they are.
  const stored = (await versionNames(store, { customer, modelName }, { live: model.version, nowMs: nowMs() }))
    .reverse()
    .slice(0, VERSIONS_MAX);
  const known = await registry.versions(customer, modelName, 10 * VERSIONS_MAX);
  const byName = new Map(known.map((version) => [version.version, version]));
  const versions = [];
  for (const version of stored) {
    const createdAt =
      byName.get(version)?.createdAt ?? (await readManifest(store, { customer, modelName }, version))?.created_at;
    if (createdAt === undefined) continue; // removed by a sweep meanwhile
    const metrics = byName.get(version)?.metrics ?? null;
    versions.push({ version, created_at: createdAt, live: version === model.version, metrics });
  }
  return versions;
}

function notActive({ modelName, status }: Model): Problem {
  const detail = `The model ${JSON.stringify(modelName)} has no version yet: its status is ${status}.`;
  return new Problem("model_not_active", detail, { retryAfterSeconds: 30, extra: { model_status: status } });
}

/** Throws Problem model_not_found for an invalid name, which the database may not even accept in a query (NUL). */
function refOf(c: Context<AppEnv>): { readonly customer: string; readonly modelName: string } {
  const modelName = c.req.param("model_name")!;
  if (ModelName.safeParse(modelName).success) return { customer: c.get("caller").customer, modelName };
  const shownName = JSON.stringify(modelName.slice(0, 64));
  throw new Problem("model_not_found", `There is no model with the name ${shownName}.`);
}

/** Refuses a body other than `{}`, for calls whose path says everything. */
function requireEmpty(c: Context<AppEnv>): void {
  const body = c.get("body");
  if (body.length > 0) parseWith(z.strictObject({}), jsonOf(body, c.req.header("content-type")));
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
export function recordOfModel(model: Model, edgeUrl: string): ModelRecord {
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
    failure: model.failure,
  };
}
