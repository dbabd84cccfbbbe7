import type { Interactions } from "../../read/dataset/dataset.ts";

/** Interactions by user, oldest first. User u's entries are positions start[u] … start[u + 1] − 1. Immutable. */
export type Histories = {
  readonly userCount: number;
  readonly itemCount: number;
  readonly start: Uint32Array; // [userCount + 1]
  readonly items: Int32Array; // [entryCount]
  /** The value of each entry, above 0; absent: every entry counts 1. */
  readonly values?: Float32Array; // [entryCount]
};

/**
 * Each user's newest positive interactions, at most `newest` of them. Repeated items stay repeated. Statistics cost the square of a
 * history's length, so this bound limits the cost per interaction.
 *
 * @param everyNth Only every n-th user keeps entries; the histories of the others are empty.
 */
export function positiveHistories(data: Interactions, newest = Number.POSITIVE_INFINITY, everyNth = 1): Histories {
  const { userCount, itemCount, userStart, items, positive } = data;
  const start = new Uint32Array(userCount + 1);
  for (let user = 0; user < userCount; user++) {
    let count = 0;
    if (user % everyNth === 0) for (let at = userStart[user]!; at < userStart[user + 1]!; at++) count += positive[at]!;
    start[user + 1] = start[user]! + Math.min(count, newest);
  }
  const kept = new Int32Array(start[userCount]!);
  for (let user = 0; user < userCount; user++) {
    let to = start[user + 1]!;
    for (let at = userStart[user + 1]! - 1; to > start[user]!; at--) if (positive[at]) kept[--to] = items[at]!;
  }
  return { userCount, itemCount, start, items: kept };
}

/** The second of each entry of `positiveHistories(data)`. */
export const positiveTimes = ({ times, positive }: Interactions): Interactions["times"] =>
  times.filter((_, row) => positive[row]);

/** The histories up to other ends: user u's entries before position ends[u]. */
export function upTo({ start, items, values, ...sizes }: Histories, ends: Uint32Array): Histories {
  const shorter = new Uint32Array(start.length);
  const [kept, keptValues] = [new Int32Array(items.length), values && new Float32Array(items.length)];
  for (let user = 0; user < sizes.userCount; user++) {
    const [from, to] = [start[user]!, shorter[user]!];
    kept.set(items.subarray(from, ends[user]), to);
    keptValues?.set(values!.subarray(from, ends[user]), to);
    shorter[user + 1] = to + ends[user]! - from;
  }
  return {
    ...sizes,
    start: shorter,
    items: kept.subarray(0, shorter.at(-1)),
    ...(keptValues && { values: keptValues }),
  };
}

/** Each user's newest interactions, whatever their label: a disliked film was watched too. */
export function wholeHistories(data: Interactions, newest = Number.POSITIVE_INFINITY): Histories {
  return positiveHistories({ ...data, positive: new Uint8Array(data.items.length).fill(1) }, newest);
}

/** Number of positive interactions of each item. Float32Array(itemCount) */
export function timesChosen({ itemCount, items, positive }: Interactions): Float32Array {
  const counts = new Float32Array(itemCount);
  for (let i = 0; i < items.length; i++) counts[items[i]!]! += positive[i]!;
  return counts;
}

type Rows = Pick<Interactions, "items" | "itemCount">;

/** Number of rows, or of entries in histories, of each item. Float64Array(itemCount) */
export function countItems({ items, itemCount }: Rows): Float64Array {
  const counts = new Float64Array(itemCount);
  for (const item of items) counts[item]!++;
  return counts;
}

/** Half-lives of histories in days that are worth trying: none where most users have all their interactions within a day. */
export function halfLives({ userCount, userStart, times }: Interactions): readonly number[] {
  let long = 0;
  for (let user = 0; user < userCount; user++) {
    const [first, end] = [userStart[user]!, userStart[user + 1]!];
    if (end > first && times[end - 1]! - times[first]! > SECONDS_PER_DAY) long++;
  }
  return long > LONG_FRACTION_MIN * userCount ? [30, 180] : [];
}

const SECONDS_PER_DAY = 86_400;
const LONG_FRACTION_MIN = 0.1;

/** True when an interaction is negative. */
export const hasNegatives = ({ positive }: Interactions): boolean => positive.includes(0);

/** The distinct items of each history, in ascending order of index. */
export function distinctItems({ userCount, itemCount, start, items }: Histories): Histories {
  const distinctStart = new Uint32Array(userCount + 1);
  const kept = new Int32Array(items.length);
  let to = 0;
  for (let user = 0; user < userCount; user++) {
    const sorted = items.slice(start[user]!, start[user + 1]!).sort();
    for (let i = 0; i < sorted.length; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) kept[to++] = sorted[i]!;
    distinctStart[user + 1] = to;
  }
  return { userCount, itemCount, start: distinctStart, items: kept.subarray(0, to) };
}

/** The histories without entries that repeat the item of the entry before them. */
export function withoutImmediateRepeats({ userCount, itemCount, start, items }: Histories): Histories {
  const shorter = new Uint32Array(userCount + 1);
  const kept = new Int32Array(items.length);
  let to = 0;
  for (let user = 0; user < userCount; user++) {
    for (let at = start[user]!; at < start[user + 1]!; at++)
      if (at === start[user] || items[at] !== items[at - 1]) kept[to++] = items[at]!;
    shorter[user + 1] = to;
  }
  return { userCount, itemCount, start: shorter, items: kept.subarray(0, to) };
}

/** Positions of each item in the histories. Item i's occurrences are positions start[i] … start[i + 1] − 1 of both arrays. */
export type Occurrences = {
  readonly start: Uint32Array; // [itemCount + 1]
  readonly users: Uint32Array; // [entryCount]
  /** Positions in the histories' `items`. */
  readonly positions: Uint32Array; // [entryCount]
};

/** Inverts histories: the occurrences of each item, users ascending. */
export function occurrencesOf({ userCount, itemCount, start, items }: Histories): Occurrences {
  const itemStart = new Uint32Array(itemCount + 1);
  for (const item of items) itemStart[item + 1]!++;
  for (let item = 0; item < itemCount; item++) itemStart[item + 1]! += itemStart[item]!;
  const next = itemStart.slice();
  const users = new Uint32Array(items.length);
  const positions = new Uint32Array(items.length);
  for (let user = 0; user < userCount; user++) {
    for (let at = start[user]!; at < start[user + 1]!; at++) {
      const to = next[items[at]!]!++;
      users[to] = user;
      positions[to] = at;
    }
  }
  return { start: itemStart, users, positions };
}

/** Interactions per item at which the best settings change. Measured on four public data sets (LOG.md). */
const SPARSE = 13;
const DENSE = 48;

/** With fewer interactions per item, smoother models rank better (LOG.md, "Few interactions for each item"). */
const VERY_SPARSE = 9;

/** Sparsity of the data: 0 for at least 48 interactions per item, 1 for at most 13, logarithmic in between. */
export function sparsity(data: Rows): number {
  const position = Math.log(DENSE / interactionsPerItem(data)) / Math.log(DENSE / SPARSE);
  return Math.min(1, Math.max(0, position));
}

export const isVerySparse = (data: Rows): boolean => interactionsPerItem(data) < VERY_SPARSE;

const countedBefore = new WeakMap<Rows["items"], number>();

/** The mean over items that have any: a catalog may hold many that nobody chose. Counted once, in a pass over all rows. */
function interactionsPerItem({ items, itemCount }: Rows): number {
  const known = countedBefore.get(items);
  if (known !== undefined) return known;
  const chosenCount = countItems({ items, itemCount }).filter((count) => count > 0).length;
  const perItem = items.length / Math.max(1, chosenCount);
  countedBefore.set(items, perItem);
  return perItem;
}

/** Interpolates between the setting for dense and the one for sparse data, to two digits. */
export const between = (dense: number, sparse: number, sparsity: number): number =>
  Number((dense + (sparse - dense) * sparsity).toPrecision(2));
