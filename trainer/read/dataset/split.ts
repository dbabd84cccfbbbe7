import type { Interactions } from "./dataset.ts";

/**
 * The positive interactions held out, by user, oldest first: user u's are positions userStart[u] … userStart[u + 1] − 1.
 * Users and items keep the indices of the dataset. An item may be repeated, or known from the user's train part: who
 * judges lists that omit seen items leaves those out.
 */
export type Targets = {
  readonly userStart: Uint32Array; // [userCount + 1]
  readonly items: Int32Array; // [targetCount] item index
  readonly times: Uint32Array; // [targetCount] epoch seconds
};

/** Invariant: every positive interaction is either in train or a target, never both. */
export type Split = { readonly train: Interactions; readonly targets: Targets };

/** Everything before one instant (epoch seconds) trains; what users chose at or after it is to be found. */
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
 * For each share, the instant (epoch seconds) that leaves that share of the positive interactions at or after it: at most so many, or
 * where equal times make that impossible, those of the newest time. 0 when nothing is positive.
 *
 * @param shares Between 0 and 1.
 */
export function instantsForShares(all: Interactions, shares: readonly number[]): number[] {
  const times = positiveTimes(all);
  return shares.map((share) => {
    if (times.length === 0) return 0;
    let first = Math.min(times.length - 1, Math.ceil(times.length * (1 - share)));
    while (first > 0 && first < times.length && times[first - 1] === times[first]) first++;
    return times[first] ?? times.at(-1)!;
  });
}

/** Ascending. */
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
  /** Rows before each user's test target: what the final fit learns from. */
  readonly refit: Interactions;
  readonly test: Targets;
};

/**
 * Each user's newest positive interaction is the test target, the positive one before it the validation target. Users
 * with fewer than three positive interactions only train. Negative rows newer than a target are in no part.
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
 * Each positive interaction is held out with a probability, whatever its time: the protocol of published train and test
 * files. Negative interactions stay in train.
 *
 * @param share Between 0 and 1.
 * @param random Uniform in [0, 1); called once per positive interaction, in the order of the rows.
 */
export function setSplit(all: Interactions, share: number, random: () => number): Split {
  const held = all.positive.map((positive) => (positive === 1 && random() < share ? 1 : 0));
  return { train: rowsWhere(all, (row) => held[row] === 0), targets: rowsWhere(all, (row) => held[row] === 1) };
}

/** Rows for which a condition holds, under the same users and items. */
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
  return { userCount: all.userCount, itemCount: all.itemCount, userStart, items, times, positive, ratings };
}

/** Each user's rows before its end train; its positive rows from there up to its limit are targets. */
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
