import type { TrainingData } from "../../learn/model.ts";
import { rowsOfSome } from "../splits/sample-users.ts";
import { type Candidate, choiceOf, isSameChoice } from "./candidate.ts";
import { dropped, leftOut } from "./discarded.ts";
import {
  addTrial,
  evaluationSeconds,
  nearTheBest,
  type SelectState,
  scaled,
  type TryOptions,
  tryCandidate,
  withinLimits,
} from "./select-state.ts";
import { byMetric, type Trial } from "./trial.ts";

/** Fraction of the time left for tuning. The steps that follow take less: with a third, a sixth of a budget was unused. */
const TIME_FRACTION = 1 / 2;

/**
 * Tries further settings of the methods near the best in the time that is left. Those that take least come first, and leave to the others
 * what they do not need.
 */
export async function tune(state: SelectState): Promise<void> {
  const { context, validation } = state;
  const end = context.clock() + TIME_FRACTION * state.secondsLeft();
  const isNew = (candidate: Candidate) =>
    ![...state.tried.map(choiceOf), ...state.discarded].some((one) => isSameChoice(choiceOf(candidate), one));
  const grids = [...new Set(nearTheBest(state).map(({ method }) => method))]
    .map((method) => method.grid(validation.train).map((params) => ({ method, params })))
    .map((grid) => grid.filter(isNew))
    .filter((grid) => grid.length > 0)
    .map((grid) => ({ grid, seconds: secondsToTry(state, grid, validation.train) }))
    .sort((a, b) => a.seconds - b.seconds);
  for (const [m, { grid }] of grids.entries()) {
    const secondsMax = (end - context.clock()) / (grids.length - m);
    const within = scaled(context, m / grids.length, (m + 1) / grids.length);
    await tuneMethod({ ...state, context: within }, grid, secondsMax);
  }
}

const secondsToTry = (state: SelectState, candidates: readonly Candidate[], data: TrainingData): number =>
  candidates.reduce((sum, one) => sum + state.context.parts.secondsToFit(one, data) + evaluationSeconds(state), 0);

/**
 * Tries as many settings as fit the time, or a sample of the users decides which third of more settings is tried on all users. There is
 * only one such round, because smaller samples are sparser than all users and so prefer stronger regularisation.
 */
async function tuneMethod(state: SelectState, grid: readonly Candidate[], secondsMax: number): Promise<void> {
  const { context, validation, discarded, metric } = state;
  const { train } = validation;
  const end = context.clock() + secondsMax;
  const mostWhere = (fits: (count: number) => boolean) => {
    let count = grid.length;
    while (count > 0 && !fits(count)) count--;
    return count;
  };
  const secondsOf = (count: number, data = train) => secondsToTry(state, grid.slice(0, count), data);
  const onAll = mostWhere((count) => secondsOf(count) <= secondsMax);
  const data = onAll < grid.length ? rowsOfSome(train, 1 / REDUCTION, context.seed) : train;
  const keptOf = (count: number) => Math.ceil(count / REDUCTION);
  const onSample = mostWhere((count) => secondsOf(count, data) + secondsOf(keptOf(count)) <= secondsMax);
  const count = Math.max(onAll, onSample);
  for (const candidate of grid.slice(count)) discarded.push(leftOut(candidate, NO_TIME));
  if (onAll === count) return void (await tryRound(state, grid.slice(0, count), { end }));
  const half = (from: number, to: number) => ({ ...state, context: scaled(state.context, from, to) });
  const trials = await tryRound(half(0, 0.5), grid.slice(0, count), { sample: { data, fraction: 1 / REDUCTION }, end });
  for (const worse of trials.slice(keptOf(count))) discarded.push(dropped(worse, trials[0]!, metric));
  await tryRound(half(0.5, 1), trials.slice(0, keptOf(count)), { end });
}

const REDUCTION = 3;
const NO_TIME = "left out: no time was left for it, and better guesses came first";

/** `end`: when the last trial may begin, by the clock. */
type RoundTask = Pick<TryOptions, "sample"> & { readonly end: number };

/** The trials of one round, the best first. Those on all training users are added to the state. */
async function tryRound(state: SelectState, candidates: readonly Candidate[], { sample, end }: RoundTask) {
  const trials: Trial[] = [];
  for (const [c, { method, params }] of candidates.entries()) {
    const { candidate, reason: obstacle } = withinLimits(state, { method, params });
    const context = scaled(state.context, c / candidates.length, (c + 1) / candidates.length);
    const secondsMax = (end - context.clock()) / (candidates.length - c);
    const reason = secondsMax > 0 ? obstacle : NO_TIME;
    if (reason) {
      state.discarded.push(leftOut(candidate, reason));
      continue;
    }
    const trial = await tryCandidate({ ...state, context }, candidate, { ...(sample && { sample }), secondsMax });
    if (!trial) continue;
    if (sample) trials.push(trial);
    else addTrial(state, trial);
  }
  return trials.sort(byMetric(state.metric));
}
