import { type FittedModel, fitOrReuse, type ServingBudget, type TrainingData } from "../../learn/model.ts";
import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import { mean } from "../evaluate/bootstrap.ts";
import { type Evaluation, evaluate, type MetricAtK } from "../evaluate/evaluate.ts";
import { type EvaluationCases, ownersOf } from "../evaluate/evaluation-cases.ts";
import type { Served } from "../evaluate/offline-snapshot.ts";
import type { Candidate } from "./candidate.ts";
import type { FittedParts } from "./fitted-parts.ts";

/** A candidate that has been fitted, exported and evaluated. */
export type Trial = Candidate & {
  /** Fraction of the training users that the fit learnt from. */
  readonly trainFraction: number;
  readonly served: Served;
  readonly evaluation: Evaluation;
  /** Seconds of a fit that shares nothing with others. */
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
  /** MB that the process has left beyond what it really holds. Absent: as `memoryMbMax` says. */
  readonly memoryMbFree?: (() => number) | undefined;
  /** Told the name of the method before each fit, so that whoever ends the process for its memory knows it. */
  readonly onTry?: ((method: string) => void) | undefined;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  /** As in FitContext. */
  readonly threads?: number | undefined;
  /** `fraction` is 0…1 of this trial. */
  readonly progress: (fraction: number, detail: string) => void;
  /** What has been fitted before. Absent: nothing is shared. */
  readonly parts?: FittedParts;
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
};

/** Fits a candidate. Throws the error of the fit, and an Error that says so when the fit took too long. */
export async function fitCandidate(
  { method, params }: Candidate,
  { data, secondsMax, secondsHard }: FitTask,
  context: TrialContext,
): Promise<{ readonly fitted: FittedModel; readonly seconds: number }> {
  const begin = context.clock();
  context.onTry?.(method.name);
  const fitted = await stoppedAfter(secondsHard, context, (signal) =>
    fitOrReuse(method, data, params, {
      random: seededRandom(context.seed, 17),
      signal,
      secondsMax,
      clock: context.clock,
      threads: context.threads,
      memoryMbMax: context.memoryMbMax,
      progress: (fraction, detail) => context.progress(FIT_FRACTION * fraction, `${method.name}: ${detail}`),
      ...(context.parts && { fitPart: context.parts.fit }),
    }),
  );
  return { fitted, seconds: context.clock() - begin };
}

/** Fits, exports and evaluates a candidate within `secondsHard`. Throws as `fitCandidate` and `evaluate` do. */
export async function runTrial(candidate: Candidate, task: TrialTask, context: TrialContext): Promise<Trial> {
  return await stoppedAfter(task.secondsHard, context, async (signal) => {
    const { fitted, seconds } = await fitCandidate(candidate, task, { ...context, signal });
    const served = { exported: fitted.export(context.budget), historyMax: fitted.historyMax };
    const { cases, positions, trainFraction } = task;
    const begin = context.clock();
    const evaluation = await evaluate(cases, served, {
      ...context,
      signal,
      positions,
      progress: (fraction) =>
        context.progress(
          FIT_FRACTION + (1 - FIT_FRACTION) * fraction,
          `${candidate.method.name}: ranking for ${ownersOf(cases, positions).size} users`,
        ),
    });
    return {
      ...candidate,
      evaluation,
      secondsPerList: (context.clock() - begin) / Math.max(1, positions.length),
      trainFraction,
      served,
      fitSeconds: trainFraction === 1 && context.parts ? context.parts.secondsAlone(candidate) : seconds,
      artifactBytes: bytesOf(served),
    };
  });
}

/** The result of the work. After the timeout, by the context's clock, the work is aborted, and the error says so. */
async function stoppedAfter<Result>(
  seconds: number,
  { clock, signal }: Pick<TrialContext, "clock" | "signal">,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = new AbortController();
  const end = clock() + seconds;
  const timer = setInterval(() => clock() >= end && deadline.abort(), DEADLINE_CHECK_MS);
  try {
    return await work(AbortSignal.any([signal, deadline.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (!deadline.signal.aborted) throw error;
    throw new Error(`it was stopped after ${Math.round(seconds)} s`, { cause: error });
  } finally {
    clearInterval(timer);
  }
}

const FIT_FRACTION = 0.7; // of a trial's progress; the rest is the evaluation
const DEADLINE_CHECK_MS = 50;

/** Bytes of the files that the edge loads for scoring. */
export const bytesOf = ({ exported }: Served): number =>
  exported.graph.length + exported.weights.reduce((sum, { bytes }) => sum + bytes.length, 0);

/** The mean of one metric over the evaluated lists. */
export const meanOf = (evaluation: Evaluation, metric: MetricAtK): number => mean(evaluation.values.get(metric)!);

/** Comparator for the best trial first. Equal trials stay in the order in which they were tried. */
export const byMetric = (metric: MetricAtK) => (a: Trial, b: Trial) =>
  meanOf(b.evaluation, metric) - meanOf(a.evaluation, metric);
