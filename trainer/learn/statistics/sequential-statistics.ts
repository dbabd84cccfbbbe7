import { addTo, type RowSum } from "../weights/row-sum.ts";
import { type Histories, type Occurrences, occurrencesOf } from "./histories.ts";

/** A decaying window of a history: the entry l positions before the newest has the weight e^(−l / scale), for l < window. */
export type Decay = { readonly scale: number; readonly window: number };

/**
 * Second moments of the past items (sources) and the next item (target) over all positions of all histories.
 *
 * At position t of a history i_0 … i_T the source has, for each decay, s_t = Σ_{l < window} e^(−l/scale)·onehot(i_{t−l}),
 * and the target is onehot(i_{t+1}). Feature d·itemCount + i is item i under decay d; the last feature is the constant 1.
 * A = Σ_t source·sourceᵀ and C = Σ_t source·targetᵀ are computed row by row. A pair of entries contributes to A at all later
 * positions; that sum is a geometric series with a tabulated value, so each pair costs one addition.
 */
export type SequentialStatistics = {
  /** decays · itemCount + 1 */
  readonly featureCount: number;
  /** Adds row `feature` of A; columns are features. `lower`: columns after `feature` may be left out. */
  addSources(feature: number, into: RowSum, part: "lower" | "whole"): void;
  /** Adds row `feature` of C; columns are items. */
  addTargets(feature: number, into: RowSum): void;
  /** Adds column `item` of C; entries are features. */
  addSourcesOf(item: number, into: RowSum): void;
};

/** @param reversed Weight of the statistics of the histories read backwards; 0: they are not computed. */
export function sequentialStatistics(
  histories: Histories,
  decays: readonly Decay[],
  reversed: number,
): SequentialStatistics {
  const passes = [passOf(histories, decays, 1)];
  if (reversed > 0) passes.push(passOf(backwards(histories), decays, reversed));
  const { itemCount } = histories;
  const constant = decays.length * itemCount;
  return {
    featureCount: constant + 1,
    addSources(feature, into, part) {
      for (const pass of passes) {
        if (feature === constant) addConstant(pass, into);
        else addPairs(pass, feature, into, part);
      }
    },
    addTargets(feature, into) {
      for (const pass of passes) {
        if (feature === constant) addTargetCounts(pass, into);
        else addFollowing(pass, feature, into);
      }
    },
    addSourcesOf(item, into) {
      for (const pass of passes) addPreceding(pass, item, into);
    },
  };
}

/** One reading of the histories, forwards or backwards. */
type Pass = {
  readonly histories: Histories;
  readonly occurrences: Occurrences;
  readonly factor: number;
  readonly decays: readonly Decay[];
  /** For each decay: e^(−l / scale) for l < window. */
  readonly powers: readonly Float64Array[];
  /** For each decay: the sum of its first m powers, m ≤ window. */
  readonly sums: readonly Float64Array[];
  /** For decays d and e: the sum of the first m products of their powers, m ≤ the smaller window. */
  readonly productSums: readonly (readonly Float64Array[])[];
};

function passOf(histories: Histories, decays: readonly Decay[], factor: number): Pass {
  const powers = decays.map(({ scale, window }) =>
    Float64Array.from({ length: window }, (_, l) => Math.exp(-l / scale)),
  );
  const productSums = powers.map((a) =>
    powers.map((b) => summed(Array.from({ length: Math.min(a.length, b.length) }, (_, l) => a[l]! * b[l]!))),
  );
  const sums = powers.map((values) => summed([...values]));
  return { histories, occurrences: occurrencesOf(histories), factor, decays, powers, sums, productSums };
}

function summed(values: readonly number[]): Float64Array {
  const sums = new Float64Array(values.length + 1);
  for (const [m, value] of values.entries()) sums[m + 1] = sums[m]! + value;
  return sums;
}

function backwards({ start, items, ...rest }: Histories): Histories {
  const reversed = new Int32Array(items.length);
  for (let user = 0; user < rest.userCount; user++) {
    reversed.set(items.slice(start[user]!, start[user + 1]!).reverse(), start[user]!);
  }
  return { ...rest, start, items: reversed };
}

function addPairs(pass: Pass, feature: number, into: RowSum, part: "lower" | "whole"): void {
  const { histories, occurrences } = pass;
  const { itemCount, start } = histories;
  const decay = Math.floor(feature / itemCount);
  const item = feature % itemCount;
  const constant = pass.decays.length * itemCount;
  const decayCount = part === "lower" ? decay + 1 : pass.decays.length;
  for (let o = occurrences.start[item]!; o < occurrences.start[item + 1]!; o++) {
    const at = occurrences.positions[o]!;
    const user = occurrences.users[o]!;
    const last = start[user + 1]! - 2; // the last position that has a target
    if (at > last) continue;
    const place = { first: start[user]!, at, last };
    for (let other = 0; other < decayCount; other++) addPairsAt(pass, [decay, other], place, into);
    if (part === "whole") {
      const met = Math.min(pass.decays[decay]!.window, last - at + 1);
      addTo(into, constant, pass.factor * pass.sums[decay]![met]!);
    }
  }
}

type Pair = readonly [decay: number, other: number];
type Place = { readonly first: number; readonly at: number; readonly last: number };

/** Adds the moments of the entry at `at` under one decay with every entry in reach under the other. */
function addPairsAt(pass: Pass, [decay, other]: Pair, { first, at, last }: Place, into: RowSum): void {
  const { histories, powers, productSums, factor } = pass;
  const { items, itemCount } = histories;
  const { values } = into;
  const powersOfDecay = powers[decay]!;
  const otherPowers = powers[other]!;
  const sums = productSums[decay]![other]!;
  const offset = other * itemCount;
  const decayWindow = powersOfDecay.length;
  const otherWindow = otherPowers.length;
  for (let q = Math.max(first, at - otherWindow + 1); q < at; q++) {
    const meetings = Math.min(decayWindow, otherWindow - (at - q), last - at + 1);
    const column = offset + items[q]!;
    if (values[column] === 0) into.touched[into.count++] = column;
    values[column]! += factor * otherPowers[at - q]! * sums[meetings]!;
  }
  for (let q = at; q <= Math.min(last, at + decayWindow - 1); q++) {
    const meetings = Math.min(decayWindow - (q - at), otherWindow, last - q + 1);
    const column = offset + items[q]!;
    if (values[column] === 0) into.touched[into.count++] = column;
    values[column]! += factor * powersOfDecay[q - at]! * sums[meetings]!;
  }
}

/** Adds the items that follow each occurrence of the feature's item, each with the occurrence's weight at that time. */
function addFollowing({ histories, occurrences, powers, factor }: Pass, feature: number, into: RowSum): void {
  const { items, itemCount, start } = histories;
  const weights = powers[Math.floor(feature / itemCount)]!;
  const item = feature % itemCount;
  for (let o = occurrences.start[item]!; o < occurrences.start[item + 1]!; o++) {
    const at = occurrences.positions[o]!;
    const end = Math.min(start[occurrences.users[o]! + 1]! - 1, at + weights.length);
    for (let q = at + 1; q <= end; q++) addTo(into, items[q]!, factor * weights[q - at - 1]!);
  }
}

/** Adds the entries that precede each occurrence of an item, under every decay. */
function addPreceding({ histories, occurrences, powers, factor }: Pass, item: number, into: RowSum): void {
  const { items, itemCount, start } = histories;
  for (let o = occurrences.start[item]!; o < occurrences.start[item + 1]!; o++) {
    const at = occurrences.positions[o]!;
    const first = start[occurrences.users[o]!]!;
    if (at === first) continue;
    for (const [decay, weights] of powers.entries()) {
      for (let q = Math.max(first, at - weights.length); q < at; q++) {
        addTo(into, decay * itemCount + items[q]!, factor * weights[at - q - 1]!);
      }
    }
    addTo(into, powers.length * itemCount, factor);
  }
}

function addConstant({ histories, decays, sums, factor }: Pass, into: RowSum): void {
  const { userCount, start, items, itemCount } = histories;
  for (let user = 0; user < userCount; user++) {
    const last = start[user + 1]! - 2;
    for (let at = start[user]!; at <= last; at++) {
      for (const [decay, { window }] of decays.entries()) {
        addTo(into, decay * itemCount + items[at]!, factor * sums[decay]![Math.min(window, last - at + 1)]!);
      }
      addTo(into, decays.length * itemCount, factor);
    }
  }
}

function addTargetCounts({ histories, factor }: Pass, into: RowSum): void {
  const { userCount, start, items } = histories;
  for (let user = 0; user < userCount; user++) {
    for (let at = start[user]! + 1; at < start[user + 1]!; at++) addTo(into, items[at]!, factor);
  }
}
