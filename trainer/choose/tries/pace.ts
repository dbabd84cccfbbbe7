import { type Method, ownSeconds, type Params, type TrainingData } from "../../learn/model.ts";
import { secondsPerList } from "../evaluate/evaluate.ts";
import type { Trial } from "./trial.ts";

/** How many times longer than predicted fits and evaluations take. */
export type Pace = { readonly fit: number; readonly evaluation: number };

export const AS_PREDICTED: Pace = { fit: 1, evaluation: 1 };

export type PredictOptions = { readonly data: TrainingData; readonly listCount: number; readonly pace: Pace };

/** Predicted seconds of fitting one set of settings and evaluating `listCount` lists. */
export const predictedSeconds = (method: Method, params: Params, options: PredictOptions): number =>
  predictedSecondsOfAll(method, [params], options);

/** Predicted seconds of several settings, one after the other. Work that their fits share counts once, or not if it is already done. */
export function predictedSecondsOfAll(
  method: Method,
  grid: readonly Params[],
  { data, listCount, pace }: PredictOptions,
): number {
  const costs = grid.map((params) => method.cost(data, params));
  const fits = costs.reduce((sum, cost) => sum + ownSeconds(cost), 0);
  const shared = Math.max(0, ...costs.map((cost) => (cost.shared?.isLearnt ? 0 : (cost.shared?.seconds ?? 0))));
  return pace.fit * (fits + shared) + pace.evaluation * grid.length * listCount * secondsPerList(data.itemCount);
}

/** The pace of this method's trials; without any, the pace of all trials but at least 1, since the machine may be busy. */
export function paceFor(method: Method, trials: readonly Trial[], data: TrainingData): Pace {
  const own = trials.filter((trial) => trial.method.name === method.name);
  return {
    fit: ownFitPace(own, data) ?? fitPace(trials, data),
    evaluation: ownEvaluatePace(own, data) ?? evaluatePace(trials, data),
  };
}

const PACE_MAX = 20;
/** Fits that took fewer seconds in total are too short to estimate a pace from. */
const SECONDS_MIN = 5;
const OWN_SECONDS_MIN = 1;
/** Predictions are off by up to this factor on an idle machine. */
const PREDICTION_ERROR = 1.5;

const atLeastOne = (pace: number) => Math.min(PACE_MAX, Math.max(1, pace));

function ownFitPace(own: readonly Trial[], data: TrainingData): number | undefined {
  const { taken, predicted } = fitSecondsOf(own, data);
  return taken < OWN_SECONDS_MIN ? undefined : Math.min(PACE_MAX, taken / predicted);
}

function fitPace(trials: readonly Trial[], data: TrainingData): number {
  const { taken, predicted } = fitSecondsOf(trials, data);
  return taken < SECONDS_MIN ? 1 : atLeastOne(taken / predicted / PREDICTION_ERROR);
}

/** Seconds taken and predicted. Methods that fill their time budget say nothing about the pace, so they are excluded. */
function fitSecondsOf(trials: readonly Trial[], data: TrainingData) {
  const informative = trials.filter(({ method }) => !method.fillsItsTime);
  return {
    taken: sumOf(informative, ({ fitSeconds }) => fitSeconds),
    predicted: sumOf(informative, ({ method, params }) => method.cost(data, params).seconds),
  };
}

const ownEvaluatePace = (own: readonly Trial[], data: TrainingData) =>
  own.length === 0 ? undefined : Math.min(PACE_MAX, evaluationPaceOf(own, data));

const evaluatePace = (trials: readonly Trial[], data: TrainingData) =>
  trials.length === 0 ? 1 : atLeastOne(evaluationPaceOf(trials, data));

function evaluationPaceOf(trials: readonly Trial[], data: TrainingData): number {
  const lists = ({ evaluation }: Trial) => evaluation.positions.length;
  const taken = sumOf(trials, (trial) => lists(trial) * trial.secondsPerList);
  return taken / (Math.max(1, sumOf(trials, lists)) * secondsPerList(data.itemCount));
}

const sumOf = (trials: readonly Trial[], of: (trial: Trial) => number) =>
  trials.reduce((sum, trial) => sum + of(trial), 0);
