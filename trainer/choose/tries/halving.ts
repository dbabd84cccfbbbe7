/** One round: every candidate that is left is tried on a share of the training users, and the best `keep` go on. */
export type Rung = { readonly trainShare: number; readonly tried: number; readonly keep: number };

export type HalvingOptions = {
  /** Candidates, the best guess first. */
  readonly candidateCount: number;
  readonly trainUsers: number;
  /** Predicted seconds of the first `count` candidates on a share of the training users, judging included. */
  readonly secondsOf: (count: number, trainShare: number) => number;
  readonly secondsMax: number;
};

const REDUCTION = 3;
/** Fewer training users say little about which settings suit all of them. */
const RUNG_USERS_MIN = 1000;

/**
 * The rounds of successive halving (Jamieson and Talwalkar 2016) with a third of the candidates kept each time: as few rounds as the
 * time allows, since a subsample of the users is sparser than all of them and so prefers stronger regularisation.
 *
 * When even that takes too long, the candidates are cut to the best guesses. Empty when not even one can be tried on everything.
 * The last round is always on all training users.
 */
export function planHalving(options: HalvingOptions): Rung[] {
  const { candidateCount, trainUsers, secondsMax } = options;
  const depthMax = Math.max(0, Math.floor(Math.log(trainUsers / RUNG_USERS_MIN) / Math.log(REDUCTION)));
  for (let count = candidateCount; count >= 1; count--) {
    for (let depth = 0; depth <= Math.min(depthMax, count === 1 ? 0 : 3); depth++) {
      const rungs = rungsOf(count, depth);
      if (secondsOfRungs(rungs, options) <= secondsMax) return rungs;
    }
  }
  return [];
}

function rungsOf(count: number, depth: number): Rung[] {
  const rungs: Rung[] = [];
  let tried = count;
  for (let left = depth; left >= 0; left--) {
    const keep = left === 0 ? 1 : Math.max(1, Math.ceil(tried / REDUCTION));
    rungs.push({ trainShare: REDUCTION ** -left, tried, keep });
    tried = keep;
  }
  return rungs;
}

function secondsOfRungs(rungs: readonly Rung[], { secondsOf }: HalvingOptions): number {
  return rungs.reduce((sum, { tried, trainShare }) => sum + secondsOf(tried, trainShare), 0);
}
