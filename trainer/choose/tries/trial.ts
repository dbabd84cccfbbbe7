import type { FittedModel, Method, Params, ServingBudget, TrainingData } from "../../learn/model.ts";
import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import { mean } from "../evaluate/bootstrap.ts";
import { type Evaluation, evaluate, type MetricAtK } from "../evaluate/evaluate.ts";
import { type EvaluationCases, ownersOf } from "../evaluate/evaluation-cases.ts";
import { joined } from "../evaluate/evaluation-figures.ts";
import type { Served } from "../evaluate/offline-snapshot.ts";

/** A method with its settings: what can be fitted again on other data. */
export type Choice = { readonly method: string; readonly params: Params };

export const choiceOf = ({ method, params }: Trial): Choice => ({ method: method.name, params });

/** Whether two choices are of one method with equal settings, in whatever order these are written. */
export function isSameChoice(choice: Choice, other: Choice | undefined): boolean {
  if (other === undefined || choice.method !== other.method) return false;
  const names = new Set([...Object.keys(choice.params), ...Object.keys(other.params)]);
  return [...names].every((name) => choice.params[name] === other.params[name]);
}

/** One method with one set of params: what is tried. */
export type Candidate = { readonly method: Method; readonly params: Params };

/** A candidate fitted, exported and judged. */
export type Trial = Candidate & {
  /** Share of the training users that it learnt from. */
  readonly trainShare: number;
  /** Undefined once it has been let go to save memory. */
  readonly fitted: FittedModel | undefined;
  readonly served: Served;
  readonly evaluation: Evaluation;
  readonly fitSeconds: number;
  /** Of making and judging one list. */
  readonly secondsPerList: number;
  readonly artifactBytes: number;
};

/** Limits, clock, seed and abort signal that all trials of one selection share. */
export type TrialContext = {
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
  /** When the fit, and of a trial the judging, is stopped and counts as failed. */
  readonly secondsHard: number;
};

/** What a trial learns from, and what it is judged on. */
export type TrialTask = FitTask & {
  readonly trainShare: number;
  readonly cases: EvaluationCases;
  readonly positions: Uint32Array;
  /** Judged first, some of `positions`; when these lists leave no hope, the others are not made. */
  readonly probe?: { readonly positions: Uint32Array; readonly isHopeless: (evaluation: Evaluation) => boolean };
};

/**
 * A candidate fitted. The seconds are those of a fit by itself, as the one on all data will be: what other fits had learnt for it
 * counts as predicted. Throws what the fit throws, and an Error that says so when it took too long.
 */
export async function fitCandidate(
  { method, params }: Candidate,
  { data, secondsMax, secondsHard }: FitTask,
  context: TrialContext,
): Promise<{ readonly fitted: FittedModel; readonly seconds: number }> {
  const { shared } = method.cost(data, params);
  const begin = context.clock();
  const fitted = await stoppedAfter(secondsHard, context.signal, (signal) =>
    method.fit(data, params, {
      random: seededRandom(context.seed, 17),
      signal,
      secondsMax,
      memoryMbMax: context.memoryMbMax,
      progress: (share, detail) => context.progress(FIT_SHARE * share, `${method.name}: ${detail}`),
    }),
  );
  return { fitted, seconds: context.clock() - begin + (shared?.isLearnt ? shared.seconds : 0) };
}

/** A candidate fitted, exported and judged, all within `secondsHard`. Throws as `fitCandidate` and `evaluate` do. */
export async function runTrial(candidate: Candidate, task: TrialTask, context: TrialContext): Promise<Trial> {
  return await stoppedAfter(task.secondsHard, context.signal, async (signal) => {
    const { fitted, seconds } = await fitCandidate(candidate, task, { ...context, signal });
    return await judgeFitted({ candidate, fitted, fitSeconds: seconds }, task, { ...context, signal });
  });
}

/** What the work gives; it is aborted when its time is up, and the error then says so. */
async function stoppedAfter<Result>(
  seconds: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = AbortSignal.timeout(Math.ceil(Math.min(seconds, TIMEOUT_SECONDS_MAX) * 1000));
  try {
    return await work(AbortSignal.any([signal, deadline]));
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.aborted) throw error;
    throw new Error(`it was stopped after ${Math.round(seconds)} s`, { cause: error });
  }
}

export type FittedCandidate = {
  readonly candidate: Candidate;
  readonly fitted: FittedModel;
  readonly fitSeconds: number;
};

/** A fitted candidate exported and judged. Throws as `evaluate` does. */
export async function judgeFitted(
  { candidate, fitted, fitSeconds }: FittedCandidate,
  task: Omit<TrialTask, keyof FitTask>,
  context: TrialContext,
): Promise<Trial> {
  const served = { exported: fitted.export(context.budget), historyMax: fitted.historyMax };
  const users = ownersOf(task.cases, task.positions).size;
  const begin = context.clock();
  const evaluation = await judge(served, task, {
    ...context,
    progress: (share) =>
      context.progress(FIT_SHARE + (1 - FIT_SHARE) * share, `${candidate.method.name}: ranking for ${users} users`),
  });
  const judged = { evaluation, secondsPerList: (context.clock() - begin) / Math.max(1, evaluation.positions.length) };
  return {
    ...candidate,
    ...judged,
    trainShare: task.trainShare,
    fitted,
    served,
    fitSeconds,
    artifactBytes: bytesOf(served),
  };
}

type JudgeContext = Omit<TrialContext, "progress"> & { readonly progress: (share: number) => void };

async function judge(served: Served, task: Omit<TrialTask, keyof FitTask>, context: JudgeContext): Promise<Evaluation> {
  const { cases, positions, probe } = task;
  const { cutOffs, includeSeen, signal, memoryMbMax, progress } = context;
  const options = { cutOffs, includeSeen, signal, memoryMbMax };
  if (!probe) return await evaluate(cases, served, { ...options, positions, progress });
  const first = await evaluate(cases, served, { ...options, positions: probe.positions });
  if (probe.isHopeless(first)) return first;
  const isProbed = new Set(probe.positions);
  const rest = positions.filter((at) => !isProbed.has(at));
  return joined(first, await evaluate(cases, served, { ...options, positions: rest, progress }));
}

const FIT_SHARE = 0.7; // of a trial's progress
const TIMEOUT_SECONDS_MAX = 1e6; // timers take 31 bits of milliseconds

/** Bytes of the files that an edge loads to score. */
export const bytesOf = ({ exported }: Served): number =>
  exported.graph.length + exported.weights.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The mean of one metric over the lists judged. */
export const meanOf = (evaluation: Evaluation, metric: MetricAtK): number => mean(evaluation.values.get(metric)!);

/** The best first; sorting leaves equal ones in the order in which they were tried. */
export const byMetric = (metric: MetricAtK) => (a: Trial, b: Trial) =>
  meanOf(b.evaluation, metric) - meanOf(a.evaluation, metric);
