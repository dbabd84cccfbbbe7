import { rowsOfSome } from "../splits/sample-users.ts";
import { type Candidate, choiceOf, isSameChoice } from "./candidate.ts";
import { dropped, leftOut } from "./discarded.ts";
import { planRounds, type Round } from "./rounds.ts";
import {
  addTrial,
  evaluationSeconds,
  nearTheBest,
  obstacle,
  refitSeconds,
  type SelectState,
  scaled,
  tryCandidate,
} from "./select-state.ts";
import { byMetric, type Trial } from "./trial.ts";

/** Fraction of the time left, beside the final fit, for tuning; blends and the last round have the rest. */
const TIME_FRACTION = 1 / 2;

/** Tries further settings of the methods near the best, by successive halving, in the time that is left. */
export async function tune(state: SelectState): Promise<void> {
  const { context, secondsLeft, validation } = state;
  const methods = [...new Set(nearTheBest(state).map(({ method }) => method))];
  const end = context.clock() + TIME_FRACTION * (secondsLeft() - refitSeconds(state));
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

async function tuneMethod(state: SelectState, grid: readonly Candidate[], secondsMax: number): Promise<void> {
  const { context, validation, discarded, metric } = state;
  const { train } = validation;
  const samples = new Map([[1, train]]);
  const sampleOf = (fraction: number) => {
    if (!samples.has(fraction)) samples.set(fraction, rowsOfSome(train, fraction, context.seed));
    return samples.get(fraction)!;
  };
  const secondsOf = (count: number, fraction: number) =>
    grid
      .slice(0, count)
      .reduce((sum, one) => sum + context.parts.secondsToFit(one, sampleOf(fraction)) + evaluationSeconds(state), 0);
  const rounds = planRounds({ candidateCount: grid.length, trainUsers: train.userCount, secondsOf, secondsMax });
  const end = context.clock() + secondsMax;
  let candidates = grid.slice(0, rounds[0]?.tried ?? 0);
  for (const candidate of grid.slice(candidates.length)) discarded.push(leftOut(candidate, NO_TIME));
  for (const [r, round] of rounds.entries()) {
    const within = { ...state, context: scaled(context, r / rounds.length, (r + 1) / rounds.length) };
    const trials = await tryRound(within, candidates, { round, data: sampleOf(round.trainFraction), end });
    if (round.trainFraction === 1) return;
    for (const worse of trials.slice(round.keep)) discarded.push(dropped(worse, trials[0]!, metric));
    candidates = trials.slice(0, round.keep).map(({ method, params }) => ({ method, params }));
  }
}

const NO_TIME = "left out: no time was left for it, and better guesses came first";

type RoundTask = {
  readonly round: Round;
  readonly data: SelectState["validation"]["train"];
  /** When the last trial may begin, by the clock. */
  readonly end: number;
};

/** The trials of one round, the best first. Those on all training users are added to the state. */
async function tryRound(state: SelectState, candidates: readonly Candidate[], { round, data, end }: RoundTask) {
  const trials: Trial[] = [];
  const { trainFraction: fraction } = round;
  for (const [c, candidate] of candidates.entries()) {
    const context = scaled(state.context, c / candidates.length, (c + 1) / candidates.length);
    const secondsMax = (end - context.clock()) / (candidates.length - c);
    const reason = secondsMax > 0 ? obstacle(state, candidate) : NO_TIME;
    if (reason) {
      state.discarded.push(leftOut(candidate, reason));
      continue;
    }
    const sample = fraction < 1 ? { sample: { data, fraction } } : {};
    const trial = await tryCandidate({ ...state, context }, candidate, { ...sample, secondsMax });
    if (!trial) continue;
    if (fraction === 1) addTrial(state, trial);
    else trials.push(trial);
  }
  return trials.sort(byMetric(state.metric));
}
