import type { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { methodNamed } from "../../learn/blends.ts";
import type { ExportedModel, FittedModel, Method } from "../../learn/model.ts";
import type { Dataset } from "../../read/dataset/dataset.ts";
import { reorderItems } from "../../read/dataset/reorder-items.ts";
import { dataForFit } from "../budget.ts";
import { popularityOrder } from "../splits/validation.ts";
import type { Choice } from "../tries/candidate.ts";
import { bytesOf, fitCandidate, type TrialContext } from "../tries/trial.ts";

export type RefitInput = {
  readonly dataset: Dataset;
  readonly methods: Readonly<Record<string, Method>>;
  readonly choice: Choice;
  readonly halfLifeDays: number;
  /** The time that the fit may take; its timeout is three times as long. */
  readonly secondsMax: number;
  readonly context: Omit<TrialContext, "cutOffs" | "includeSeen">;
};

export type Refit = {
  /** The same dataset with its catalog in order of popularity with recency. The published version must use this one. */
  readonly dataset: Dataset;
  /** The order of its catalog, for reorderItems. */
  readonly order: Int32Array;
  /** What a version says of its model. The model itself, which may be large, is freed before the version is built. */
  readonly fitted: Pick<FittedModel, "method" | "params" | "historyMax">;
  readonly exported: ExportedModel;
  readonly report: NonNullable<EvaluationReport["refit"]>;
};

/**
 * Fits the chosen method on all data and exports it. If they do not fit into the memory or the time, the fit uses a sample of the users.
 * Throws the error of the fit.
 */
export async function refit({
  dataset,
  methods,
  choice,
  halfLifeDays,
  secondsMax,
  context,
}: RefitInput): Promise<Refit> {
  const method = methodNamed(choice.method, methods);
  if (!method) throw new Error(`There is no method ${JSON.stringify(choice.method)}.`);
  const order = popularityOrder(dataset, halfLifeDays, context.seed);
  const ordered = reorderItems(dataset, order);
  const secondsHard = 3 * secondsMax;
  const data = dataForFit({ method, params: choice.params }, ordered, { ...context, secondsHard });
  const task = { data, secondsMax, secondsHard };
  const { fitted, seconds } = await fitCandidate({ method, params: choice.params }, task, {
    ...context,
    cutOffs: [],
    includeSeen: false,
  });
  const exported = fitted.export(context.budget);
  const artifactBytes = bytesOf({ exported, historyMax: fitted.historyMax });
  const report = { interactions: data.items.length, seconds, artifact_bytes: artifactBytes };
  const { method: name, params, historyMax } = fitted;
  return { dataset: ordered, order, fitted: { method: name, params, historyMax }, exported, report };
}
