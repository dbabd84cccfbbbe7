import type { FittedModel, Method, Params, ServingBudget, TrainingData } from "../../learn/model.ts";
import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import { mean } from "../evaluate/bootstrap.ts";
import { type Evaluation, evaluate, type MetricAtK } from "../evaluate/evaluate.ts";
import { type EvaluationCases, ownersOf } from "../evaluate/evaluation-cases.ts";
import { joined } from "../evaluate/evaluation-figures.ts";
import type { Served } from "../evaluate/offline-snapshot.ts";

/** A method's name with its settings: it can be fitted again on other data. */
export type Choice = { readonly method: string; readonly params: Params };

export const choiceOf = ({ method, params }: Trial): Choice => ({ method: method.name, params });

/** True if both choices have the same method and equal settings; the order of the settings does not matter. */
export function isSameChoice(choice: Choice, other: Choice | undefined): boolean {
  if (other === undefined || choice.method !== other.method) return false;
  const names = new Set([...Object.keys(choice.params), ...Object.keys(other.params)]);
  return [...names].every((name) => choice.params[name] === other.params[name]);
}

/** One method with one set of settings, before it is tried. */
export type Candidate = { readonly method: Method; readonly params: Params };

/** A candidate that has been fitted, exported and evaluated. */
export type Trial = Candidate & {
  /** Fraction of the training users that the fit learnt from. */
  readonly trainFraction: number;
  /** Undefined once it has been released to save memory. */
  readonly fitted: FittedModel | undefined;
  readonly served: Served;
  readonly evaluation: Evaluation;
  readonly fitSeconds: number;
  /** Seconds of making and evaluating one list. */
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
  /** `fraction` is 0…1 of this trial. */
  readonly progress: (fraction: number, detail: string) => void;
};

export type FitTask = {
  readonly data: TrainingData;
  /** The time that the fit may take; a method that can stop early keeps to it. */
  readonly secondsMax: number;
  /** Timeout in seconds: the fit, and in a trial the evaluation too, is stopped and counts as failed. */
  readonly secondsHard: number;
};

/** The data that a trial learns from, and the cases that it is evaluated on. */
export type TrialTask = FitTask & {
  readonly trainFraction: number;
  readonly cases: EvaluationCases;
  readonly positions: Uint32Array;
  /** Some of `positions`, evaluated first. If these lists are hopeless, the others are not made. */
  readonly probe?: { readonly positions: Uint32Array; readonly isHopeless: (evaluation: Evaluation) => boolean };
};

/**
 * Fits a candidate. The seconds are those of a fit by itself, as the refit on all data will be: work shared with earlier fits is added as
 * predicted. Throws the error of the fit, and an Error that says so when the fit took too long.
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
      progress: (fraction, detail) => context.progress(FIT_FRACTION * fraction, `${method.name}: ${detail}`),
    }),
  );
  return { fitted, seconds: context.clock() - begin + (shared?.isLearnt ? shared.seconds : 0) };
}

/** Fits, exports and evaluates a candidate within `secondsHard`. Throws as `fitCandidate` and `evaluate` do. */
export async function runTrial(candidate: Candidate, task: TrialTask, context: TrialContext): Promise<Trial> {
  return await stoppedAfter(task.secondsHard, context.signal, async (signal) => {
    const { fitted, seconds } = await fitCandidate(candidate, task, { ...context, signal });
    return await evaluateFitted({ candidate, fitted, fitSeconds: seconds }, task, { ...context, signal });
  });
}

/** The result of the work. After the timeout the work is aborted, and the error says so. */
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

/** Exports and evaluates a fitted candidate. Throws as `evaluate` does. */
export async function evaluateFitted(
  { candidate, fitted, fitSeconds }: FittedCandidate,
  task: Omit<TrialTask, keyof FitTask>,
  context: TrialContext,
): Promise<Trial> {
  const served = { exported: fitted.export(context.budget), historyMax: fitted.historyMax };
  const users = ownersOf(task.cases, task.positions).size;
  const begin = context.clock();
  const evaluation = await evaluateServed(served, task, {
    ...context,
    progress: (fraction) =>
      context.progress(
        FIT_FRACTION + (1 - FIT_FRACTION) * fraction,
        `${candidate.method.name}: ranking for ${users} users`,
      ),
  });
  const secondsPerList = (context.clock() - begin) / Math.max(1, evaluation.positions.length);
  return {
    ...candidate,
    evaluation,
    secondsPerList,
    trainFraction: task.trainFraction,
    fitted,
    served,
    fitSeconds,
    artifactBytes: bytesOf(served),
  };
}

type EvaluateContext = Omit<TrialContext, "progress"> & { readonly progress: (fraction: number) => void };

async function evaluateServed(
  served: Served,
  task: Omit<TrialTask, keyof FitTask>,
  context: EvaluateContext,
): Promise<Evaluation> {
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

const FIT_FRACTION = 0.7; // of a trial's progress; the rest is the evaluation
const TIMEOUT_SECONDS_MAX = 1e6; // timers hold 31 bits of milliseconds

/** Bytes of the files that the edge loads for scoring. */
export const bytesOf = ({ exported }: Served): number =>
  exported.graph.length + exported.weights.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The mean of one metric over the evaluated lists. */
export const meanOf = (evaluation: Evaluation, metric: MetricAtK): number => mean(evaluation.values.get(metric)!);

/** Comparator for the best trial first. Equal trials stay in the order in which they were tried. */
export const byMetric = (metric: MetricAtK) => (a: Trial, b: Trial) =>
  meanOf(b.evaluation, metric) - meanOf(a.evaluation, metric);
