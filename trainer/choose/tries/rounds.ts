/** One round: every remaining candidate is tried on a fraction of the training users, and the best `keep` go on. */
export type Round = { readonly trainFraction: number; readonly tried: number; readonly keep: number };

export type RoundsOptions = {
  /** Number of candidates, which are ordered by prior guess, the best first. */
  readonly candidateCount: number;
  readonly trainUsers: number;
  /** Predicted seconds of the first `count` candidates on a fraction of the training users, evaluation included. */
  readonly secondsOf: (count: number, trainFraction: number) => number;
  readonly secondsMax: number;
};

const REDUCTION = 3;
/** Fewer training users say little about which settings suit all users. */
const USERS_MIN = 1000;

/**
 * Plans the rounds of successive halving (Jamieson and Talwalkar 2016); each round keeps a third of its candidates. The plan has as few
 * rounds as the time allows, because a sample of the users is sparser than all users and so prefers stronger regularisation.
 *
 * If the longest plan takes too long, only the best guesses are candidates. The plan is empty when not even one candidate can be tried on
 * all users. The last round is always on all training users.
 */
export function planRounds({ candidateCount, trainUsers, secondsOf, secondsMax }: RoundsOptions): Round[] {
  const depthMax = Math.max(0, Math.floor(Math.log(trainUsers / USERS_MIN) / Math.log(REDUCTION)));
  for (let count = candidateCount; count >= 1; count--) {
    for (let depth = 0; depth <= Math.min(depthMax, count === 1 ? 0 : 3); depth++) {
      const rounds = roundsOf(count, depth);
      const seconds = rounds.reduce((sum, { tried, trainFraction }) => sum + secondsOf(tried, trainFraction), 0);
      if (seconds <= secondsMax) return rounds;
    }
  }
  return [];
}

function roundsOf(count: number, depth: number): Round[] {
  const rounds: Round[] = [];
  let tried = count;
  for (let left = depth; left >= 0; left--) {
    const keep = left === 0 ? 1 : Math.max(1, Math.ceil(tried / REDUCTION));
    rounds.push({ trainFraction: REDUCTION ** -left, tried, keep });
    tried = keep;
  }
  return rounds;
}
