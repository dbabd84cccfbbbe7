import type { SegmentReport } from "../../../shared/evaluation-report.ts";
import { bootstrapMeans, toMeasured } from "../evaluate/bootstrap.ts";
import { type Evaluation, listOf } from "../evaluate/evaluate.ts";
import { type EvaluationCases, ownersOf } from "../evaluate/evaluation-cases.ts";
import { measured, restrictedTo } from "../evaluate/evaluation-figures.ts";

export type SegmentInput = {
  readonly cases: EvaluationCases;
  readonly chosen: Evaluation;
  readonly popularity: Evaluation;
  readonly seed: number;
};

/** New, light and heavy users: without a history, with one shorter than the median length, and with a longer one. */
export function userSegments({ cases, chosen, popularity, seed }: SegmentInput): SegmentReport[] {
  const lengths = Float64Array.from(chosen.positions, (at) => cases.caseAt(at).items.length);
  const known = lengths.filter((length) => length > 0).sort();
  const middle = known[Math.floor(known.length / 2)] ?? 1;
  const light =
    middle > 1 ? `1 to ${middle - 1} in the history` : "none: half of the users or more have a history of 1";
  const segments = [
    {
      name: "new",
      meaning: "no history: ranked by attributes where that is better, else by popularity",
      holds: (length: number) => length === 0,
    },
    { name: "light", meaning: light, holds: (l: number) => l > 0 && l < middle },
    { name: "heavy", meaning: `${middle} or more in the history`, holds: (l: number) => l >= middle && l > 0 },
  ];
  return segments.map(({ name, meaning, holds }) => {
    const positions = chosen.positions.filter((_, i) => holds(lengths[i]!));
    return {
      name,
      meaning,
      users: ownersOf(cases, positions).size,
      items: null,
      share_shown: null,
      chosen: measured(restrictedTo(chosen, positions), { seed }),
      popularity: measured(restrictedTo(popularity, positions), { seed }),
    };
  });
}

/** Fractions of all training positives at which the head and the middle end. */
const HEAD_ENDS = 0.5;
const MIDDLE_ENDS = 0.8;

/**
 * Head, middle and tail items: the most popular items with half of the training positives, the next ones up to four fifths, and the rest.
 * The metric is the recall of the targets in the segment, over users with a target there.
 *
 * @param popularity [itemCount] training positives of each item.
 */
export function itemSegments(input: SegmentInput, popularity: ArrayLike<number>): SegmentReport[] {
  const segmentOf = segmentOfItems(popularity);
  const shown = shownBySegment(input.chosen, segmentOf);
  const total = shown.reduce((sum, count) => sum + count, 0);
  const meanings = [
    "half of the training positives",
    "the next three tenths",
    "the last fifth, and items never chosen",
  ];
  return ["head", "middle", "tail"].map((name, segment) => ({
    name,
    meaning: meanings[segment]!,
    users: usersWithTarget(input, segmentOf, segment),
    items: segmentOf.reduce((count, own) => count + (own === segment ? 1 : 0), 0),
    share_shown: total === 0 ? null : shown[segment]! / total,
    chosen: segmentRecall(input.chosen, input, { segmentOf, segment }),
    popularity: segmentRecall(input.popularity, input, { segmentOf, segment }),
  }));
}

function segmentOfItems(popularity: ArrayLike<number>): Uint8Array {
  const order = Uint32Array.from({ length: popularity.length }, (_, item) => item);
  order.sort((a, b) => popularity[b]! - popularity[a]! || a - b);
  let total = 0;
  for (let item = 0; item < popularity.length; item++) total += popularity[item]!;
  const segmentOf = new Uint8Array(popularity.length);
  let before = 0;
  for (const item of order) {
    segmentOf[item] = before < HEAD_ENDS * total ? 0 : before < MIDDLE_ENDS * total ? 1 : 2;
    before += popularity[item]!;
  }
  return segmentOf;
}

function shownBySegment({ lists }: Evaluation, segmentOf: Uint8Array): number[] {
  const shown = [0, 0, 0];
  for (const item of lists) if (item >= 0) shown[segmentOf[item]!]!++;
  return shown;
}

type Segment = { readonly segmentOf: Uint8Array; readonly segment: number };

function usersWithTarget({ cases, chosen }: SegmentInput, segmentOf: Uint8Array, segment: number): number {
  const hasTarget = (at: number) => cases.caseAt(at).relevant.some((item) => segmentOf[item] === segment);
  return ownersOf(cases, chosen.positions.filter(hasTarget)).size;
}

function segmentRecall(evaluation: Evaluation, { cases, seed }: SegmentInput, { segmentOf, segment }: Segment) {
  const wanted = Array.from(evaluation.positions, (at, i) => {
    const relevant = new Set(cases.caseAt(at).relevant.filter((item) => segmentOf[item] === segment));
    return { list: listOf(evaluation, i), relevant, owner: cases.ownerAt(at) };
  }).filter(({ relevant }) => relevant.size > 0);
  const recallAt = (k: number) =>
    Float64Array.from(
      wanted,
      ({ list, relevant }) => list.slice(0, k).filter((item) => relevant.has(item)).length / relevant.size,
    );
  const owners = wanted.map(({ owner }) => owner);
  const intervals = bootstrapMeans(evaluation.cutOffs.map(recallAt), { seed, owners });
  return Object.fromEntries(evaluation.cutOffs.map((k, i) => [`recall@${k}`, toMeasured(intervals[i]!)]));
}
