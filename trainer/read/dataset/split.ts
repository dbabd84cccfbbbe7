import type { Interactions } from "./dataset.ts";

/**
 * The held-out positive interactions by user, oldest first: user u's are positions userStart[u] … userStart[u + 1] − 1.
 * Users and items keep the indices of the dataset. An item may occur twice, or also in the user's train part; an
 * evaluation of lists without seen items has to skip it.
 */
export type Targets = {
  readonly userStart: Uint32Array; // [userCount + 1]
  readonly items: Int32Array; // [targetCount] item index
  readonly times: Uint32Array; // [targetCount] epoch seconds
};

/** Invariant: every positive interaction is either in train or a target, never both. */
export type Split = { readonly train: Interactions; readonly targets: Targets };

/** Interactions before an instant (epoch seconds) are the train part; positive ones from then on are targets. */
export function temporalSplit(all: Interactions, instantSeconds: number): Split {
  const ends = new Uint32Array(all.userCount);
  for (let user = 0; user < all.userCount; user++) {
    let end = all.userStart[user]!;
    while (end < all.userStart[user + 1]! && all.times[end]! < instantSeconds) end++;
    ends[user] = end;
  }
  return splitAt(all, ends, all.userStart.subarray(1));
}

/**
 * The instants (epoch seconds) from which on lie at most the given fractions of the positive interactions. Where equal
 * times make that impossible, the instant is the newest time. 0 when nothing is positive.
 *
 * @param fractions Between 0 and 1.
 */
export function instantsForFractions(all: Interactions, fractions: readonly number[]): number[] {
  const times = positiveTimes(all);
  return fractions.map((fraction) => {
    if (times.length === 0) return 0;
    let first = Math.min(times.length - 1, Math.ceil(times.length * (1 - fraction)));
    while (first > 0 && first < times.length && times[first - 1] === times[first]) first++;
    return times[first] ?? times.at(-1)!;
  });
}

/** The times of positive interactions, ascending. */
function positiveTimes({ times, positive }: Interactions): Uint32Array {
  const kept = new Uint32Array(times.length);
  let count = 0;
  for (let row = 0; row < times.length; row++) if (positive[row]) kept[count++] = times[row]!;
  return kept.subarray(0, count).sort();
}

export type LeaveLastOut = {
  /** Rows before each user's validation target. */
  readonly train: Interactions;
  readonly validation: Targets;
  /** Rows before each user's test target, for the final fit. */
  readonly refit: Interactions;
  readonly test: Targets;
};

/**
 * Each user's newest positive interaction is the test target; the positive one before it is the validation target. Users
 * with fewer than three positive interactions are in the train part only. Negative rows newer than a target are in no part.
 */
export function leaveLastOut(all: Interactions): LeaveLastOut {
  const whole = all.userStart.subarray(1);
  const trainEnds = whole.slice();
  const refitEnds = whole.slice();
  for (let user = 0; user < all.userCount; user++) {
    const last = positiveBefore(all, user, whole[user]!);
    const second = positiveBefore(all, user, last);
    if (positiveBefore(all, user, second) < all.userStart[user]!) continue;
    refitEnds[user] = last;
    trainEnds[user] = second;
  }
  const validation = splitAt(all, trainEnds, refitEnds);
  const test = splitAt(all, refitEnds, whole);
  return { train: validation.train, validation: validation.targets, refit: test.train, test: test.targets };
}

/**
 * Holds out each positive interaction with the same probability, whatever its time, as published train and test files do.
 * Negative interactions stay in the train part.
 *
 * @param fraction Between 0 and 1.
 * @param random Uniform in [0, 1); called once per positive interaction, in the order of the rows.
 */
export function setSplit(all: Interactions, fraction: number, random: () => number): Split {
  const held = all.positive.map((positive) => (positive === 1 && random() < fraction ? 1 : 0));
  return { train: rowsWhere(all, (row) => held[row] === 0), targets: rowsWhere(all, (row) => held[row] === 1) };
}

/** The rows for which a condition holds, with the same users and items. */
export function rowsWhere(all: Interactions, keep: (row: number) => boolean): Interactions {
  const userStart = new Uint32Array(all.userCount + 1);
  for (let user = 0, count = 0; user < all.userCount; user++) {
    for (let row = all.userStart[user]!; row < all.userStart[user + 1]!; row++) if (keep(row)) count++;
    userStart[user + 1] = count;
  }
  const count = userStart[all.userCount]!;
  const items = new Int32Array(count);
  const times = new Uint32Array(count);
  const positive = new Uint8Array(count);
  const ratings = all.ratings && new Float32Array(count);
  for (let row = 0, to = 0; row < all.items.length; row++) {
    if (!keep(row)) continue;
    items[to] = all.items[row]!;
    times[to] = all.times[row]!;
    positive[to] = all.positive[row]!;
    if (ratings) ratings[to] = all.ratings![row]!;
    to++;
  }
  const { userCount, itemCount, listedCount, eventTypes } = all;
  const columns = { userStart, items, times, positive, ratings };
  return {
    userCount,
    itemCount,
    ...columns,
    ...(listedCount !== undefined && { listedCount }),
    ...(eventTypes && { eventTypes }),
  };
}

/** Each user's rows before `ends` are the train part; the positive rows from there up to `limits` are targets. */
function splitAt(all: Interactions, ends: Uint32Array, limits: Uint32Array): Split {
  const part = new Uint8Array(all.items.length); // 0 in no part, 1 train, 2 target
  for (let user = 0; user < all.userCount; user++) {
    part.fill(1, all.userStart[user]!, ends[user]!);
    part.fill(2, ends[user]!, limits[user]!);
  }
  return {
    train: rowsWhere(all, (row) => part[row] === 1),
    targets: rowsWhere(all, (row) => part[row] === 2 && all.positive[row] === 1),
  };
}

/** The position of the user's newest positive row before `end`; below userStart[user] when there is none. */
function positiveBefore(all: Interactions, user: number, end: number): number {
  let row = end - 1;
  while (row >= all.userStart[user]! && all.positive[row] !== 1) row--;
  return row;
}
