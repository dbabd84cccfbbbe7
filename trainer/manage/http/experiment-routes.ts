/** The calls that begin, change and end an experiment. Edges report on it, because the counts are theirs. */
import { randomBytes } from "node:crypto";
import type { Context } from "hono";
import { EndExperiment, Experiment } from "../../../shared/experiment/experiment.ts";
import { parseWith } from "../../../shared/parse-request.ts";
import { endExperiment, putExperiment } from "../../store/experiments.ts";
import { type ActionContext, activateVersion } from "../models/model-actions.ts";
import type { Model } from "../records/model-transitions.ts";
import type { AppEnv, Route } from "./app.ts";
import { jsonOf } from "./read-request.ts";

type Find = (c: Context<AppEnv>) => Promise<Model>;

type ExperimentContext = ActionContext & { readonly edgeMemoryBytes: number };

export function experimentRoutes(context: ExperimentContext, find: Find): readonly Route[] {
  const { store, registry, edgeMemoryBytes, nowMs } = context;
  const existsOf = (model: Model) => () => registry.exists(model);

  const put = async (c: Context<AppEnv>) => {
    const model = await find(c);
    const experiment = parseWith(Experiment, jsonOf(c.get("body"), c.req.header("content-type")));
    const salt = randomBytes(12).toString("hex");
    const start = { nowMs: nowMs(), salt, edgeMemoryBytes, exists: existsOf(model) };
    const { started_at, revisions } = await putExperiment(store, model, experiment, start);
    return c.json({ ...experiment, started_at, revision: revisions.length });
  };
  const end = async (c: Context<AppEnv>) => {
    const model = await find(c);
    const sent = c.get("body");
    const { keep } = sent.length > 0 ? parseWith(EndExperiment, jsonOf(sent, c.req.header("content-type"))) : {};
    const kept = await endExperiment(store, model, keep, { nowMs: nowMs(), exists: existsOf(model) });
    if (kept?.version) await activateVersion(context, model, kept.version.version);
    return c.json({ message: `The experiment of '${model.modelName}' has ended`, keep: keep ?? null });
  };
  return [{ path: "/v0/models/:model_name/experiment", methods: { PUT: put, DELETE: end } }];
}
