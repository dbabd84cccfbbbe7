import { samplePositions } from "../numerics/seeded-random.ts";
import type { Histories } from "../statistics/histories.ts";
import type { Averages } from "./averages.ts";
import type { BatchScorer } from "./batch-scorer.ts";
import { sequenceBatch, type Window } from "./batches.ts";

/** The last entries of some users, held out from training to decide when it stops. */
export type HeldOut = {
  /** Position after the last entry of each history that may be learnt from. */
  readonly ends: Uint32Array; // [userCount]
  /** Users whose last entry is held out, ascending. */
  readonly users: Uint32Array;
};

const USERS_MAX = 1000;
/** Below this number, a third of the users is held out instead of a sixth: 94 users stopped training at random. */
const USERS_ENOUGH = 300;
/** Fewer users are not held out at all: their NDCG would be too noisy. */
const USERS_MIN = 30;

/** Holds out the last entry of a sixth of the users with three entries or more, or of a third where these are few. */
export function holdOut({ start, userCount }: Histories, random: () => number): HeldOut {
  const eligible = Uint32Array.from({ length: userCount }, (_, user) => user).filter(
    (user) => start[user + 1]! - start[user]! >= 3,
  );
  const wanted = Math.max(eligible.length / 6, Math.min(USERS_ENOUGH, eligible.length / 3));
  const count = Math.min(USERS_MAX, Math.floor(wanted));
  const chosen = count < USERS_MIN ? new Uint32Array(0) : samplePositions(eligible.length, count, random);
  const users = chosen.map((at) => eligible[at]!);
  const ends = start.slice(1);
  for (const user of users) ends[user]!--;
  return { ends, users };
}

export type HeldOutTask = {
  readonly histories: Histories;
  readonly heldOut: HeldOut;
  /** Largest number of history entries that the network reads. */
  readonly length: number;
  readonly signal: AbortSignal;
};

/** Users that are scored at once. */
const GROUP_SIZE = 32;

/**
 * Mean NDCG of the held-out entries, each ranked among all items outside its user's history; undefined when none are held
 * out. There is no cut-off: NDCG@10 of a thousand users varies more from epoch to epoch than training changes it.
 */
export async function heldOutNdcg(
  scorer: BatchScorer,
  averages: Averages,
  { histories, heldOut, length, signal }: HeldOutTask,
): Promise<number | undefined> {
  const { start, items, itemCount } = histories;
  const windows = Array.from(heldOut.users, (user): Window & { readonly user: number } => {
    const end = heldOut.ends[user]!;
    const first = Math.max(start[user]!, end - length);
    return { user, first, size: end - first };
  }).sort((a, b) => a.size - b.size);
  let total = 0;
  for (let from = 0; from < windows.length; from += GROUP_SIZE) {
    const group = windows.slice(from, from + GROUP_SIZE);
    const scores = await scorer.score(averages, sequenceBatch(items, group));
    signal.throwIfAborted(); // with a million items, all groups take half a minute
    for (const [row, { user }] of group.entries()) {
      const history = items.subarray(start[user], heldOut.ends[user]);
      const own = scores.subarray(row * itemCount, (row + 1) * itemCount);
      total += gainOf(own, history, items[heldOut.ends[user]!]!);
    }
  }
  return windows.length === 0 ? undefined : total / windows.length;
}

/**
 * 1 / log2(1 + rank) of the target among the items outside the history; 0 for a target in the history or without a score.
 * Overwrites the scores of the history.
 */
export function gainOf(scores: Float32Array, history: Int32Array, target: number): number {
  const score = scores[target]!;
  for (const item of history) scores[item] = Number.NEGATIVE_INFINITY;
  let rank = 1;
  for (let item = 0; item < scores.length; item++) {
    // Equal scores rank by index, as in shared/top-k.ts.
    if (scores[item]! > score || (scores[item] === score && item < target)) rank++;
  }
  return history.includes(target) || Number.isNaN(score) ? 0 : 1 / Math.log2(1 + rank);
}
