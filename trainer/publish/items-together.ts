import type { TogetherRows } from "../../shared/together.ts";
import { coOccurrence, itemWeights } from "../learn/statistics/co-occurrence.ts";
import { distinctItems, type Histories } from "../learn/statistics/histories.ts";
import type { Interactions } from "../read/dataset/dataset.ts";
import { strongestOthers } from "./strongest-others.ts";

export type TogetherOptions = {
  /** Whether each user of the data is a session, which is a basket. */
  readonly areSessions: boolean;
  /** Memory that this may take, in MB. */
  readonly memoryMb?: number | undefined;
};

/** Items that a user chooses within this time of the first one are a basket, where no sessions are named. */
const BASKET_SECONDS = 24 * 3600;
/** Only the newest items of a larger basket count: nobody buys hundreds of things for one purpose. */
const BASKET_MAX = 50;
/** On retailrocket, 50 find one left-out item in a hundred more than 30, and 20 one less. */
const OTHERS_MAX = 30;
/** 7.5 MB. Rows of the most popular items come first. */
const ENTRIES_MAX = 1_500_000;
/** Beyond this number of choices, baskets of every second user are enough, and so on. */
const CHOICES_MAX = 20_000_000;
/** Where memory is short, baskets of fewer users are counted, but not of fewer choices than this. */
const CHOICES_LEAST = 100_000;
/** Memory for each choice: the baskets, and the users of each item. 31 measured. */
const BYTES_PER_CHOICE = 32;
/** Baskets that an item is taken to have had besides its own, as all items have them. Best on retailrocket among 1 to 50. */
const SHRINKAGE = 20;
/** Without a pair that was chosen together twice, there are no baskets to learn from. */
const PAIR_MIN = 2;

/**
 * For each item, the items that were chosen in addition, the strongest first (shared/together.ts). Undefined if the data have no baskets.
 */
export function itemsTogether(data: Interactions, options: TogetherOptions): TogetherRows | undefined {
  const baskets = distinctItems(basketsOf(data, options));
  const counts = coOccurrence(baskets, 0);
  const basketsWith = itemWeights(counts);
  const listedCount = data.listedCount ?? data.itemCount;
  const start = [0];
  const others: number[] = [];
  const strengths: number[] = [];
  let largestCount = 0;
  const strongest = strongestOthers(counts, OTHERS_MAX);
  for (let item = 0; item < data.itemCount && others.length < ENTRIES_MAX - OTHERS_MAX; item++) {
    const found = strongest(item, (other, both) => {
      if (other >= listedCount) return 0;
      largestCount = Math.max(largestCount, both);
      const usual = basketsWith[other]! / baskets.userCount;
      const part = (both + SHRINKAGE * usual) / (basketsWith[item]! + SHRINKAGE);
      return part * Math.log(part / usual);
    });
    for (const { other, strength } of found) {
      others.push(other);
      strengths.push(strength);
    }
    start.push(others.length);
  }
  if (largestCount < PAIR_MIN) return undefined;
  return {
    itemCount: data.itemCount,
    start: Uint32Array.from(start),
    others: Uint32Array.from(others),
    strengths: Float32Array.from(strengths),
  };
}

/** The positive items of each basket. Typed arrays, since these lists took 275 MB with 5 million rows. */
export function basketsOf(
  { userCount, itemCount, userStart, items, times, positive }: Interactions,
  { areSessions, memoryMb = Number.POSITIVE_INFINITY }: TogetherOptions,
): Histories {
  const choicesMax = Math.min(CHOICES_MAX, Math.max(CHOICES_LEAST, (1e6 * memoryMb) / BYTES_PER_CHOICE));
  const everyNth = Math.max(1, Math.ceil(items.length / choicesMax));
  let choices = 0;
  for (let user = 0; user < userCount; user += everyNth) choices += userStart[user + 1]! - userStart[user]!;
  const start = new Uint32Array(choices + 1);
  const kept = new Int32Array(choices);
  let [baskets, count] = [0, 0];
  const end = () => {
    const first = start[baskets]!;
    if (count === first) return;
    if (count - first > BASKET_MAX) {
      kept.copyWithin(first, count - BASKET_MAX, count);
      count = first + BASKET_MAX;
    }
    start[++baskets] = count;
  };
  for (let user = 0; user < userCount; user += everyNth) {
    let beganAt = Number.NEGATIVE_INFINITY;
    for (let row = userStart[user]!; row < userStart[user + 1]!; row++) {
      if (!positive[row]) continue;
      if (!areSessions && times[row]! - beganAt > BASKET_SECONDS) {
        end();
        beganAt = times[row]!;
      }
      kept[count++] = items[row]!;
    }
    end();
  }
  return { userCount: baskets, itemCount, start: start.subarray(0, baskets + 1), items: kept.subarray(0, count) };
}
