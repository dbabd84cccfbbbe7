import { mean } from "../../trainer/choose/evaluate/bootstrap.ts";
import { evaluate } from "../../trainer/choose/evaluate/evaluate.ts";
import type { EvaluationCases } from "../../trainer/choose/evaluate/evaluation-cases.ts";
import type { FitContext, FittedModel } from "../../trainer/learn/model.ts";

/** Weight budget of one model at an edge. */
export const BUDGET = { weightBytesMax: 24e6 };

export type Judged = {
  readonly recall: number;
  readonly ndcg: number;
  /** Metrics of the exported model. */
  readonly megabytes: number;
};

/** Means over the test lists, served by the exported model and ranked as the edge ranks. */
export async function judge(
  fitted: FittedModel,
  cases: EvaluationCases,
  { k, positions }: { readonly k: number; readonly positions?: Uint32Array },
): Promise<Judged> {
  const exported = fitted.export(BUDGET);
  const served = { exported, historyMax: fitted.historyMax };
  const signal = new AbortController().signal;
  const { values } = await evaluate(cases, served, { cutOffs: [k], signal, ...(positions ? { positions } : {}) });
  const megabytes = exported.weights.reduce((sum, { bytes }) => sum + bytes.length, exported.graph.length) / 1e6;
  return { recall: mean(values.get(`recall@${k}`)!), ndcg: mean(values.get(`ndcg@${k}`)!), megabytes };
}

/** Limits of every fit measured here. One thread, since its seconds of CPU are compared. */
export const benchContext = (random: () => number): FitContext => ({
  random,
  signal: new AbortController().signal,
  secondsMax: 3600,
  memoryMbMax: 8000,
  threads: 1,
  progress: () => undefined,
});
