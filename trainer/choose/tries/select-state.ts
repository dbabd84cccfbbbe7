import type { Method, TrainingData } from "../../learn/model.ts";
import { FINAL_FIT_FRACTION } from "../budget.ts";
import { cutOffOf, type MetricAtK, secondsPerList, timesShown } from "../evaluate/evaluate.ts";
import { coverage } from "../evaluate/metrics.ts";
import type { Validation } from "../splits/validation.ts";
import { type Candidate, type Choice, choiceOf, isSameChoice } from "./candidate.ts";
import { type Discarded, dropped, failed, leftOut } from "./discarded.ts";
import { type FittedParts, separateParts } from "./fitted-parts.ts";
import { byMetric, meanOf, runTrial, type Trial, type TrialContext } from "./trial.ts";

/** The state that all steps of one selection share. */
export type SelectState = {
  readonly methods: Readonly<Record<string, Method>>;
  readonly live: Choice | undefined;
  readonly context: TrialContext & { readonly parts: FittedParts };
  readonly metric: MetricAtK;
  /** The coverage that the objective asks for; 0 if it asks for none. */
  readonly coverageMin: number;
  readonly validation: Validation;
  /** The cases on which candidates are compared at this step. */
  readonly positions: Uint32Array;
  /** Seconds for choosing. The final fit has FINAL_FIT_FRACTION of them in addition. */
  readonly secondsMax: number;
  /** Seconds of the budget that remain; 0 once it is overrun. */
  readonly secondsLeft: () => number;
  /** The trials on all training users, the best first, all evaluated on the same cases. */
  readonly tried: Trial[];
  /** Methods that are not tried (SelectInput). */
  readonly tooLarge: readonly string[];
  /** Settings that are out of the race. Every step adds to the list. */
  readonly discarded: Discarded[];
};

/** Trials of one method that stay in the race. */
const TRIALS_PER_METHOD = 2;

/** Time of a fit on all data, relative to a fit on the training part. */
const REFIT_MARGIN = 1.25;

/** Predicted seconds of fitting these parts on all data. */
export const finalFitSeconds = ({ context }: SelectState, parts: readonly Candidate[]): number =>
  REFIT_MARGIN * parts.reduce((sum, part) => sum + context.parts.secondsAlone(part), 0);

/** Seconds that the final fit may take, in addition to those for choosing. */
export const finalFitSecondsMax = ({ secondsMax }: SelectState): number => FINAL_FIT_FRACTION * secondsMax;

/**
 * Fraction of the time left that one fit may take. A slow closed form leaves time for networks, and a network for its blend, for lists and
 * for tuning. With much more, a network and the other parts of its blend would not fit the time of the final fit.
 */
const LONGEST_FIT_FRACTION = 0.45;
/** The same for a closed form where no network fits. What is left is enough for a blend with a model that is fitted. */
const LONGEST_CLOSED_FRACTION = 0.7;

/** Seconds that a network's fit may take: at least its shortest worthwhile training. */
export const secondsForNetwork = ({ secondsLeft, context }: SelectState, network: Candidate): number =>
  Math.max(context.parts.secondsToFit(network), LONGEST_FIT_FRACTION * secondsLeft());

/** Predicted seconds of evaluating one candidate, by how long the evaluations took so far. */
export function evaluationSeconds({ validation, positions, tried }: SelectState): number {
  const predicted = secondsPerList(validation.dataset.itemCount);
  const taken = tried.reduce((sum, trial) => sum + trial.secondsPerList, 0) / Math.max(1, tried.length);
  return positions.length * Math.max(predicted, taken);
}

/** Why a candidate cannot be tried within the memory and the remaining time; undefined when it can. */
export function obstacle(state: SelectState, candidate: Candidate): string | undefined {
  const { context, secondsLeft } = state;
  const { parts } = context;
  const tooLarge = memoryObstacle(state, candidate);
  if (tooLarge) return tooLarge;
  const seconds = parts.secondsToFit(candidate);
  const left = secondsLeft();
  const isClosed = !parts.missing(candidate).some(({ method }) => method.fillsItsTime);
  const fraction = isClosed && !isAnyNetworkPossible(state, left) ? LONGEST_CLOSED_FRACTION : LONGEST_FIT_FRACTION;
  const fitMax = Math.max(0, Math.min(fraction * left, left - evaluationSeconds(state)));
  if (seconds > fitMax)
    return `needs about ${rounded(seconds)} to fit, which may take ${rounded(fitMax)} of the ${rounded(left)} left`;
  const [final, finalMax] = [finalFitSeconds(state, [candidate]), finalFitSecondsMax(state)];
  if (final <= finalMax) return undefined;
  return `needs about ${rounded(final)} for the final fit on all data, which may take ${rounded(finalMax)}`;
}

function memoryObstacle({ context, validation }: SelectState, candidate: Candidate): string | undefined {
  const missing = context.parts.missing(candidate);
  const memoryMb = Math.max(0, ...missing.map(({ method, params }) => method.cost(validation.train, params).memoryMb));
  const memoryMbMax = memoryMbLeft(context);
  if (memoryMb <= memoryMbMax) return undefined;
  return `needs about ${Math.round(memoryMb)} MB of memory to fit, and may use ${Math.round(memoryMbMax)} MB`;
}

const INSTEAD = "; smaller settings were tried instead";

/**
 * The candidate, or its smaller settings if only these fit the memory and the time, and why it cannot be tried; undefined when it can.
 * If the smaller ones are taken, `discarded` says so, once for each method.
 */
export function withinLimits(
  state: SelectState,
  wanted: Candidate,
): { candidate: Candidate; reason: string | undefined } {
  const reason = obstacle(state, wanted);
  const params = reason && wanted.method.smaller?.(wanted.params);
  if (!params || obstacle(state, { ...wanted, params })) return { candidate: wanted, reason };
  const isSaid = state.discarded.some((one) => one.method === wanted.method.name && one.reason.endsWith(INSTEAD));
  if (!isSaid) state.discarded.push(leftOut(wanted, reason + INSTEAD));
  return { candidate: { ...wanted, params }, reason: undefined };
}

/** Whether a network's shortest worthwhile training fits its part of the time left. */
const isAnyNetworkPossible = ({ methods, validation, context }: SelectState, left: number): boolean =>
  Object.values(methods).some((method) => {
    const [params] = method.fillsItsTime ? method.grid(validation.train) : [];
    return params && context.parts.secondsToFit({ method, params }) <= LONGEST_FIT_FRACTION * left;
  });

/** MB that one fit may take now: what the process really has left, or else what the plan leaves beside the fitted parts. */
export const memoryMbLeft = ({ memoryMbMax, memoryMbFree, parts }: SelectState["context"]) =>
  Math.max(0, memoryMbFree?.() ?? memoryMbMax - parts.heldMb());

const rounded = (seconds: number) => `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;

const TOO_LARGE = "left out: an earlier attempt of this run exceeded its memory while it was tried";

export type TryOptions = {
  /** A sample of the training users; absent: all of them. */
  readonly sample?: { readonly data: TrainingData; readonly fraction: number };
  /** The time that a method may fill which can use any. */
  readonly secondsMax: number;
  /** When the fit is stopped; absent: at the end of the time for choosing. */
  readonly secondsHard?: number;
};

/** Fits and evaluates a candidate. Undefined when it failed; the reason is then in `discarded`. */
export async function tryCandidate(
  state: SelectState,
  candidate: Candidate,
  { sample, secondsMax, secondsHard }: TryOptions,
): Promise<Trial | undefined> {
  const { context, validation, positions, discarded, secondsLeft, tooLarge } = state;
  const { train, split } = validation;
  if ([candidate, ...separateParts(candidate)].some(({ method }) => tooLarge.includes(method.name))) {
    discarded.push(leftOut(candidate, TOO_LARGE));
    return undefined;
  }
  const task = {
    data: sample?.data ?? train,
    trainFraction: sample?.fraction ?? 1,
    cases: split.cases,
    positions,
    secondsMax,
    secondsHard: secondsHard ?? secondsLeft(),
  };
  try {
    const memoryMbMax = memoryMbLeft(context);
    return await runTrial(candidate, task, { ...context, memoryMbMax });
  } catch (error) {
    context.signal.throwIfAborted();
    discarded.push({ ...failed(candidate, error), trainFraction: task.trainFraction });
    return undefined;
  }
}

/**
 * Adds a trial on all training users. Only the best two of a method stay, the live version's, and those that the floor on coverage may
 * need, since each holds its weights.
 */
export function addTrial(state: SelectState, trial: Trial): void {
  const { tried, discarded, metric, context, live } = state;
  context.parts.keepFor(trial, meanOf(trial.evaluation, metric));
  tried.push(trial);
  tried.sort(byMetric(metric));
  const wide = wideTrials(state);
  const isSpared = (one: Trial) => wide.has(one) || isSameChoice(choiceOf(one), live);
  const same = tried.filter((one) => one.method.name === trial.method.name && !isSpared(one));
  const worst = same[TRIALS_PER_METHOD];
  if (!worst) return;
  tried.splice(tried.indexOf(worst), 1);
  discarded.push(dropped(worst, same[0]!, metric));
}

/** Trials whose mean is at least this fraction of the best are tuned and evaluated on further cases. */
const NEAR_THE_BEST = 0.85;

export const isNear = ({ tried, metric }: SelectState, value: number): boolean =>
  tried.length === 0 || value >= NEAR_THE_BEST * meanOf(tried[0]!.evaluation, metric);

/** The trials near the best, and those that the floor on coverage may need. */
export function nearTheBest(state: SelectState): Trial[] {
  const wide = wideTrials(state);
  return state.tried.filter((trial) => wide.has(trial) || isNear(state, meanOf(trial.evaluation, state.metric)));
}

/**
 * The trials that show more items than every better one, until one reaches the floor on coverage. More lists show more items, so trials
 * after that one are never chosen for their coverage.
 */
function wideTrials({ tried, metric, coverageMin, validation }: SelectState): ReadonlySet<Trial> {
  const wide = new Set<Trial>();
  let most = 0;
  for (const trial of tried) {
    if (most >= coverageMin) break;
    const own = coverage(timesShown(trial.evaluation, validation.dataset.itemCount, cutOffOf(metric)));
    if (own > most) wide.add(trial);
    most = Math.max(most, own);
  }
  return wide;
}

/** A context whose progress fills the part `from`…`to` of the whole progress. */
export const scaled = <Context extends Pick<TrialContext, "progress">>(
  context: Context,
  from: number,
  to: number,
): Context => ({
  ...context,
  progress: (fraction: number, detail: string) => context.progress(from + (to - from) * fraction, detail),
});
