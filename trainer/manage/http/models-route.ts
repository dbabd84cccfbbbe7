/** What the calls on models take and answer. Who calls is settled before (app.ts); what is done is in model-actions. */
import type { Context } from "hono";
import { z } from "zod";
import { parseListQuery } from "../../../shared/api.ts";
import { reportKey } from "../../../shared/manifest.ts";
import { ModelName, ModelSpec } from "../../../shared/model-spec.ts";
import { parseWith, problemOf } from "../../../shared/parse-request.ts";
import { Problem } from "../../../shared/problem.ts";
import { checkConnectorConfig } from "../../read/connectors/connector-config.ts";
import { secretPrefixOf } from "../../settings.ts";
import { readManifest, versionNames } from "../../store/versions.ts";
import * as actions from "../models/model-actions.ts";
import { checkSchedule, ScheduleError } from "../models/schedule.ts";
import type { DryRuns } from "../questions/dry-runs.ts";
import type { Evaluations } from "../questions/evaluations.ts";
import { once } from "../records/idempotency.ts";
import type { Model } from "../records/model-transitions.ts";
import { evaluationAnswer } from "./evaluation-answer.ts";
import type { Caller } from "./forwarded.ts";
import { isObject, mergePatch } from "./merge-patch.ts";
import { queryParameters } from "./query-parameters.ts";
import { recordOfModel } from "./record-of-model.ts";
import { jsonOf } from "./request-body.ts";

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

/** The calls that take query parameters, and check them: all others are refused with any (app.ts). */
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
      const patch = parseWith(ModelPatch, jsonOf(c.get("body"), c.req.header("content-type")), UNSHOWN);
      return c.json(record(await actions.changeModel(context, refOf(c), (model) => revised(model, patch))));
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

/** A connector written in a wrong way may have its password in it. */
const UNSHOWN = { unshown: "connector_configs" } as const;

async function create(c: Context<AppEnv>, context: RoutesContext): Promise<Response> {
  const { customer } = c.get("caller");
  const dry = parseWith(CreateQuery, queryParameters(c.req.url)).dry_run === "true";
  const body = c.get("body");
  const spec = parseWith(ModelSpec, jsonOf(body, c.req.header("content-type")), UNSHOWN);
  checkScheduleOf(spec);
  checkConnectors(spec, customer);
  if (dry) return c.json(await context.dryRuns.run(spec, customer, c.req.raw.signal));
  const request = { customer, key: c.req.header("idempotency-key") ?? null, body };
  const { modelName, answer, isReplay } = await once(context.database, request, async (note) => {
    await actions.createModel(context, { customer, spec }, (queries, model) =>
      note(queries, model.modelName, JSON.stringify(recordOfModel(model, context.edgeUrl))),
    );
  });
  // Whoever has this answer may ask for ranks: they are told that it is not active rather than not there.
  await context.pointers.settled({ customer, modelName }, actions.POINTER_WAIT_MS);
  return c.body(answer, 201, {
    "content-type": "application/json",
    location: `/v0/models/${modelName}`,
    ...(isReplay ? { "idempotent-replayed": "true" } : {}),
  });
}

const CreateQuery = z.strictObject({ dry_run: z.enum(["true", "false"]).optional() });

/** What may be changed; the result must be a whole spec again. */
const ModelPatch = z.strictObject({
  connector_configs: z.array(z.unknown()).optional(),
  // Every name that was sent, also those that a record would drop: an unknown one is refused in the result.
  schema: z.unknown().refine(isObject, "must be an object").optional(),
  train_schedule: z.string().nullable().optional(),
});

function revised({ spec, customer }: Model, patch: z.infer<typeof ModelPatch>): ModelSpec {
  const next = parseWith(ModelSpec, mergePatch(spec, patch), UNSHOWN); // tells every fault that the result has
  refuseUnknownFields(mergePatch(spec, patch, "kept"));
  checkScheduleOf(next);
  if (patch.connector_configs !== undefined) checkConnectors(next, customer);
  return next;
}

/** A misspelt name with null would remove nothing, without a word. */
function refuseUnknownFields(spec: unknown): void {
  try {
    parseWith(ModelSpec, spec, UNSHOWN);
  } catch (error) {
    const unknown = error instanceof Problem ? error.errors.filter(({ code }) => code === "unknown_field") : [];
    if (unknown.length > 0) throw problemOf(unknown);
  }
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
    if (createdAt === undefined) continue; // swept in between
    const metrics = byName.get(version)?.metrics ?? null;
    versions.push({ version, created_at: createdAt, live: version === model.version, metrics });
  }
  return versions;
}

function notActive({ modelName, status }: Model): Problem {
  const detail = `The model ${JSON.stringify(modelName)} has no version yet: its status is ${status}.`;
  return new Problem("model_not_active", detail, { retryAfterSeconds: 30, extra: { model_status: status } });
}

/** Throws Problem model_not_found for what cannot be a model's name: the database could not even be asked for some of it. */
function refOf(c: Context<AppEnv>): { readonly customer: string; readonly modelName: string } {
  const modelName = c.req.param("model_name")!;
  if (ModelName.safeParse(modelName).success) return { customer: c.get("caller").customer, modelName };
  const shownName = JSON.stringify(modelName.slice(0, 64));
  throw new Problem("model_not_found", `There is no model with the name ${shownName}.`);
}

/** A call whose effect is settled by its address takes nothing, or `{}`. */
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
    // told below
  }
  throw new Problem("invalid_parameter", "The cursor was not issued by this API.", {
    errors: [{ pointer: "/cursor", code: "invalid_parameter", message: "was not issued by this API" }],
  });
}
