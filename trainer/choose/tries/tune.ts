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

/** Tries further settings of the methods near the best, by successive halving, in the time that is left. */
export async function tune(state: SelectState): Promise<void> {
  const { context, validation } = state;
  const methods = [...new Set(nearTheBest(state).map(({ method }) => method))];
  const end = context.clock() + TIME_FRACTION * state.secondsLeft();
  for (const [m, method] of methods.entries()) {
    const isNew = (candidate: Candidate) =>
      ![...state.tried.map(choiceOf), ...state.discarded].some((one) => isSameChoice(choiceOf(candidate), one));
    const grid = method
      .grid(validation.train)
      .map((params) => ({ method, params }))
      .filter(isNew);
    const secondsMax = (end - context.clock()) / (methods.length - m);
    const within = scaled(context, m / methods.length, (m + 1) / methods.length);
    if (grid.length > 0) await tuneMethod({ ...state, context: within }, grid, secondsMax);
  }
}

/**
 * Tries all settings if they fit the time. Otherwise a sample of the users decides which third of them is tried on all users. There is
 * only one such round, because smaller samples are sparser than all users and so prefer stronger regularisation.
 */
async function tuneMethod(state: SelectState, grid: readonly Candidate[], secondsMax: number): Promise<void> {
  const { context, validation, discarded, metric } = state;
  const { train } = validation;
  const end = context.clock() + secondsMax;
  const secondsOf = (count: number, data = train) =>
    grid
      .slice(0, count)
      .reduce((sum, one) => sum + context.parts.secondsToFit(one, data) + evaluationSeconds(state), 0);
  if (secondsOf(grid.length) <= secondsMax) return void (await tryRound(state, grid, { end }));
  const data = rowsOfSome(train, 1 / REDUCTION, context.seed);
  const keptOf = (count: number) => Math.ceil(count / REDUCTION);
  const fits = (count: number) => secondsOf(count, data) + secondsOf(keptOf(count)) <= secondsMax;
  let count = grid.length;
  while (count > 0 && !fits(count)) count--;
  for (const candidate of grid.slice(count)) discarded.push(leftOut(candidate, NO_TIME));
  const half = (from: number, to: number) => ({ ...state, context: scaled(context, from, to) });
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
