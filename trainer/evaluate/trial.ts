import type { FittedModel, Method, Params, ServingBudget, TrainingData } from "../models/model.ts";
import { mean } from "./bootstrap.ts";
import { type Evaluation, evaluate, type MetricAtK, type Served } from "./evaluate.ts";
import type { EvaluationCases } from "./evaluation-cases.ts";
import { seededRandom } from "./seeded-random.ts";

/** One method with one set of params: what is tried. */
export type Candidate = { readonly method: Method; readonly params: Params };

/** A candidate fitted, exported and judged. */
export type Trial = Candidate & {
  /** Share of the training users that it learnt from. */
  readonly trainShare: number;
  readonly fitted: FittedModel;
  readonly served: Served;
  readonly evaluation: Evaluation;
  readonly fitSeconds: number;
  readonly judgeSeconds: number;
  readonly artifactBytes: number;
};

/** The means of every trial of one selection. */
export type TrialMeans = {
  readonly cutOffs: readonly number[];
  readonly includeSeen: boolean;
  readonly budget: ServingBudget;
  readonly memoryMbMax: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  /** `share` 0…1 of this trial. */
  readonly progress: (share: number, detail: string) => void;
};

export type FitTask = {
  readonly data: TrainingData;
  /** What the fit is told; a method that can stop early keeps to it. */
  readonly secondsMax: number;
  /** When the fit is stopped and counts as failed. */
  readonly secondsHard: number;
};

/** What a trial learns from, and what it is judged on. */
export type TrialTask = FitTask & {
  readonly trainShare: number;
  readonly cases: EvaluationCases;
  readonly positions: Uint32Array;
};

/** A candidate fitted. Throws what the fit throws, and an Error that says so when it took too long. */
export async function fitCandidate(
  { method, params }: Candidate,
  { data, secondsMax, secondsHard }: FitTask,
  means: TrialMeans,
): Promise<{ readonly fitted: FittedModel; readonly seconds: number }> {
  const begin = means.clock();
  const deadline = AbortSignal.timeout(Math.ceil(Math.min(secondsHard, TIMEOUT_SECONDS_MAX) * 1000));
  try {
    const fitted = await method.fit(data, params, {
      random: seededRandom(means.seed, 17),
      signal: AbortSignal.any([means.signal, deadline]),
      secondsMax,
      memoryMbMax: means.memoryMbMax,
      progress: (share, detail) => means.progress(FIT_SHARE * share, `${method.name}: ${detail}`),
    });
    return { fitted, seconds: means.clock() - begin };
  } catch (error) {
    means.signal.throwIfAborted();
    if (!deadline.aborted) throw error;
    throw new Error(`it was stopped after ${Math.round(secondsHard)} s`, { cause: error });
  }
}

/** A candidate fitted, exported and judged. Throws as `fitCandidate` and `evaluate` do. */
export async function runTrial(candidate: Candidate, task: TrialTask, means: TrialMeans): Promise<Trial> {
  const { fitted, seconds } = await fitCandidate(candidate, task, means);
  const served = { exported: fitted.export(means.budget), historyMax: fitted.historyMax };
  const begin = means.clock();
  const detail = `${candidate.method.name}: ranking for ${task.positions.length} users`;
  const evaluation = await evaluate(task.cases, served, {
    cutOffs: means.cutOffs,
    includeSeen: means.includeSeen,
    signal: means.signal,
    positions: task.positions,
    progress: (share) => means.progress(FIT_SHARE + (1 - FIT_SHARE) * share, detail),
  });
  return {
    ...candidate,
    trainShare: task.trainShare,
    fitted,
    served,
    evaluation,
    fitSeconds: seconds,
    judgeSeconds: means.clock() - begin,
    artifactBytes: bytesOf(served),
  };
}

const FIT_SHARE = 0.7; // of a trial's progress
const TIMEOUT_SECONDS_MAX = 1e6; // timers take 31 bits of milliseconds

/** Bytes of the files that an edge loads to score. */
export const bytesOf = ({ exported }: Served): number =>
  exported.graph.length + exported.weights.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The mean of one metric over the lists judged. */
export const meanOf = (evaluation: Evaluation, metric: MetricAtK): number => mean(evaluation.values.get(metric)!);
