import { type Method, ownSeconds, type Params, type TrainingData } from "../../learn/model.ts";
import { secondsPerList } from "../evaluate/evaluate.ts";
import type { Trial } from "./trial.ts";

/** How many times longer than predicted fitting and judging take. */
export type Pace = { readonly fit: number; readonly judge: number };

export const AS_PREDICTED: Pace = { fit: 1, judge: 1 };

export type PredictOptions = { readonly data: TrainingData; readonly listCount: number; readonly pace: Pace };

/** Seconds of fitting these settings and judging as many lists. */
export const predictedSeconds = (method: Method, params: Params, options: PredictOptions): number =>
  predictedSecondsOfAll(method, [params], options);

/** Of one after the other: what their fits share is learnt once, or has been. */
export function predictedSecondsOfAll(
  method: Method,
  grid: readonly Params[],
  { data, listCount, pace }: PredictOptions,
): number {
  const costs = grid.map((params) => method.cost(data, params));
  const fits = costs.reduce((sum, cost) => sum + ownSeconds(cost), 0);
  const shared = Math.max(0, ...costs.map((cost) => (cost.shared?.isLearnt ? 0 : (cost.shared?.seconds ?? 0))));
  return pace.fit * (fits + shared) + pace.judge * grid.length * listCount * secondsPerList(data.itemCount);
}

/** As the trials of this method took; where none of them tells, as all did, but no quicker: the machine may be busy with other work. */
export function paceFor(method: Method, trials: readonly Trial[], data: TrainingData): Pace {
  const own = trials.filter((trial) => trial.method.name === method.name);
  return {
    fit: ownFitPace(own, data) ?? fitPace(trials, data),
    judge: ownJudgePace(own, data) ?? judgePace(trials, data),
  };
}

const PACE_MAX = 20;
/** Short fits say little. */
const SECONDS_TELLING = 5;
const OWN_SECONDS_TELLING = 1;
/** No prediction is better than by half. */
const PREDICTION_ERROR = 1.5;

const busy = (pace: number) => Math.min(PACE_MAX, Math.max(1, pace));

function ownFitPace(own: readonly Trial[], data: TrainingData): number | undefined {
  const { taken, predicted } = fitted(own, data);
  return taken < OWN_SECONDS_TELLING ? undefined : Math.min(PACE_MAX, taken / predicted);
}

function fitPace(trials: readonly Trial[], data: TrainingData): number {
  const { taken, predicted } = fitted(trials, data);
  return taken < SECONDS_TELLING ? 1 : busy(taken / predicted / PREDICTION_ERROR);
}

/** What fills the time that it is given says nothing. */
function fitted(trials: readonly Trial[], data: TrainingData) {
  const telling = trials.filter(({ method }) => !method.fillsItsTime);
  return {
    taken: sumOf(telling, ({ fitSeconds }) => fitSeconds),
    predicted: sumOf(telling, ({ method, params }) => method.cost(data, params).seconds),
  };
}

const ownJudgePace = (own: readonly Trial[], data: TrainingData) =>
  own.length === 0 ? undefined : Math.min(PACE_MAX, judged(own, data));

const judgePace = (trials: readonly Trial[], data: TrainingData) =>
  trials.length === 0 ? 1 : busy(judged(trials, data));

function judged(trials: readonly Trial[], data: TrainingData): number {
  const lists = ({ evaluation }: Trial) => evaluation.positions.length;
  const taken = sumOf(trials, (trial) => lists(trial) * trial.secondsPerList);
  return taken / (Math.max(1, sumOf(trials, lists)) * secondsPerList(data.itemCount));
}

const sumOf = (trials: readonly Trial[], of: (trial: Trial) => number) =>
  trials.reduce((sum, trial) => sum + of(trial), 0);
