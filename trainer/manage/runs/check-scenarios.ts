import { FormatError } from "../../../shared/assert.ts";
import type { ScenarioProblems } from "../../../shared/model-record.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { namesOfVersion, scenarioProblems } from "../../store/scenarios.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Model } from "../records/model-transitions.ts";

export type CheckContext = { readonly store: ObjectStore; readonly registry: ModelRegistry; readonly log: Log };

const CHECKS_MAX = 5;

/**
 * Writes to the record which scenarios do not fit the live version, unless it says so already. The check is repeated if the record
 * changes meanwhile. Throws StoreError.
 */
export async function checkScenarios({ customer, modelName }: ModelRef, context: CheckContext): Promise<void> {
  const { registry, log } = context;
  const about = { customer, model_name: modelName };
  for (let checks = 0; checks < CHECKS_MAX; checks++) {
    const model = await registry.find(customer, modelName);
    if (!model || model.version === null || model.scenarioProblems !== null || model.status === "DESTROYING") return;
    const problems = await problemsOf(model, context);
    if (problems === undefined) return;
    const event = { kind: "scenarios_checked", revision: model.revision, problems } as const;
    if ((await registry.apply(customer, modelName, event)) === undefined) continue;
    for (const { scenario, problems: texts } of problems)
      log({ event: "scenario_problem", level: "warning", ...about, version: model.version, scenario, problems: texts });
    return;
  }
}

/** Undefined if the version's files cannot be read. */
async function problemsOf(model: Model, { store, log }: CheckContext): Promise<ScenarioProblems | undefined> {
  try {
    return await scenarioProblems(store, model, () => namesOfVersion(store, model, model.version!));
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    const about = { customer: model.customer, model_name: model.modelName };
    log({ event: "scenarios_not_checked", level: "warning", ...about, error: errorForLog(error) });
    return undefined;
  }
}
