import { samplePositions } from "../numerics/seeded-random.ts";
import type { Histories } from "../statistics/histories.ts";
import type { Averages } from "./averages.ts";
import { sequenceBatch, type Window } from "./batches.ts";
import type { BatchScorer } from "./sasrec-graph.ts";

/** The last entries of some users, kept from training to tell when to stop. */
export type HeldOut = {
  /** [userCount] position after the last entry of each history that may be learnt from. */
  readonly ends: Uint32Array;
  /** Users whose last entry is held out, ascending. */
  readonly users: Uint32Array;
};

/**
 * A sixth of the users with three entries or more, 1000 at most; where that is below 300, up to a third of them. None
 * where they would be too few to tell anything.
 */
export function holdOut({ start, userCount }: Histories, random: () => number): HeldOut {
  const eligible = Uint32Array.from({ length: userCount }, (_, user) => user).filter(
    (user) => start[user + 1]! - start[user]! >= 3,
  );
  const share = Math.max(eligible.length / 6, Math.min(HELD_OUT_ENOUGH, eligible.length / 3));
  const count = Math.min(HELD_OUT_MAX, Math.floor(share));
  const chosen = count < HELD_OUT_MIN ? new Uint32Array(0) : samplePositions(eligible.length, count, random);
  const users = chosen.map((at) => eligible[at]!);
  const ends = start.slice(1);
  for (const user of users) ends[user]!--;
  return { ends, users };
}
const HELD_OUT_MAX = 1000;
const HELD_OUT_ENOUGH = 300;
const HELD_OUT_MIN = 30;

export type JudgedWith = {
  readonly histories: Histories;
  readonly heldOut: HeldOut;
  readonly length: number;
  readonly signal: AbortSignal;
};

/**
 * Mean NDCG of the held-out entries in whole rankings of all items that their history lacks; undefined when none are held out.
 * Without a cut-off: NDCG@10 of a thousand users jumps by more from epoch to epoch than training moves it.
 */
export async function judgeHeldOut(
  scorer: BatchScorer,
  averages: Averages,
  { histories, heldOut, length, signal }: JudgedWith,
): Promise<number | undefined> {
  const { start, items, itemCount } = histories;
  const windows = Array.from(heldOut.users, (user): Window & { readonly user: number } => {
    const end = heldOut.ends[user]!;
    const first = Math.max(start[user]!, end - length);
    return { user, first, size: end - first };
  }).sort((a, b) => a.size - b.size);
  let total = 0;
  for (let from = 0; from < windows.length; from += JUDGED_TOGETHER) {
    const group = windows.slice(from, from + JUDGED_TOGETHER);
    const scores = await scorer.score(averages, sequenceBatch(items, group));
    signal.throwIfAborted(); // of a million items all groups take half a minute
    for (const [row, { user }] of group.entries()) {
      const history = items.subarray(start[user], heldOut.ends[user]);
      const own = scores.subarray(row * itemCount, (row + 1) * itemCount);
      total += gainOf(own, history, items[heldOut.ends[user]!]!);
    }
  }
  return windows.length === 0 ? undefined : total / windows.length;
}
const JUDGED_TOGETHER = 32;

/** 1 / log2(1 + rank) of the target among items outside the history, 0 if it is not one or has no score. Overwrites scores. */
export function gainOf(scores: Float32Array, history: Int32Array, target: number): number {
  const score = scores[target]!;
  for (const item of history) scores[item] = Number.NEGATIVE_INFINITY;
  let rank = 1;
  for (let item = 0; item < scores.length; item++) {
    // Of equal scores the smaller index comes first, as in shared/top-k.ts.
    if (scores[item]! > score || (scores[item] === score && item < target)) rank++;
  }
  return history.includes(target) || Number.isNaN(score) ? 0 : 1 / Math.log2(1 + rank);
}
