import { secretsIn } from "../../log/redaction.ts";
import type { TrainingJob } from "../../run/training-run.ts";
import type { Settings } from "../../settings.ts";
import type { Model } from "../records/model-transitions.ts";
import type { ModelFolders } from "./model-folders.ts";

/** What a run's process is given, and what must not come out of it. */
export type PreparedRun = {
  readonly job: TrainingJob;
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
};

export async function prepareRun(
  model: Model,
  runId: string,
  { settings, folders }: { readonly settings: Settings; readonly folders: ModelFolders },
): Promise<PreparedRun> {
  const { customer, modelName, spec } = model;
  const { runs } = settings;
  const { work, temp } = await folders.makeRun(runId);
  const { secret: _, ...connectorSettings } = settings.connectorsOf(customer, temp);
  const environment = settings.childEnvironment(customer);
  return {
    job: {
      runId,
      customer,
      spec,
      connectorSettings,
      settings: {
        workDirectory: work,
        modelDirectory: await folders.makeModel(customer, modelName),
        incremental: { overlapSeconds: runs.overlapSeconds, fullReadSeconds: runs.fullReadSeconds },
        seed: runs.seed,
        fitSecondsMax: runs.fitSecondsMax,
        memoryMbMax: runs.memoryMbMax,
        rejectedShareMax: runs.rejectedShareMax,
        weightBytesMax: runs.weightBytesMax,
        edgeMemoryBytes: runs.edgeMemoryBytes,
        ignoreGate: runs.ignoreGate,
      },
    },
    environment,
    secrets: [...secretsIn(spec.connector_configs), ...secretsOfEnvironment(environment)],
  };
}

const secretsOfEnvironment = (environment: Readonly<Record<string, string>>) =>
  Object.entries(environment).flatMap(([name, value]) => (/SECRET|ACCESS_KEY/.test(name) ? [value] : []));
