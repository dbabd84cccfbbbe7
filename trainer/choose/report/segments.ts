import type { EvaluationReport, UserMeans } from "../../../shared/evaluation-report.ts";
import { mean } from "../evaluate/bootstrap.ts";
import { type Group, itemSegments, type OwnedLists, userSegments } from "./attribute-segments.ts";
import { metricsOf } from "./measured-lists.ts";

/**
 * The segments of a report: users by the length of their history, and items by their popularity and by their number of interactions.
 *
 * @param historyLengths [listCount] entries in the history of each list.
 * @param popularity [itemCount] training positives of each item.
 */
export function reportSegments(
  lists: OwnedLists,
  { historyLengths, popularity }: { historyLengths: Uint32Array; popularity: Uint32Array },
): EvaluationReport["segments"] {
  const { detail } = lists;
  const everybody = Uint32Array.from(historyLengths.keys());
  const figures = {
    chosen: metricsOf(detail, detail.chosen, everybody),
    popularity: metricsOf(detail, detail.popularity, everybody),
  };
  return {
    users: userSegments(lists, byHistory(historyLengths), figures),
    items: itemSegments(lists, [...byPopularity(popularity), ...byCount(popularity)]),
  };
}

/** The median length of the histories that are not empty: where heavy users begin. */
export function medianHistory(lengths: Uint32Array): number {
  const known = lengths.filter((length) => length > 0).sort();
  return known[Math.floor(known.length / 2)] ?? 1;
}

/** New, light and heavy users: without a history, with one shorter than the median length, and with a longer one. */
function byHistory(lengths: Uint32Array): Group[] {
  const middle = medianHistory(lengths);
  const rowsWhere = (holds: (length: number) => boolean) => [...lengths.keys()].filter((list) => holds(lengths[list]!));
  const light =
    middle > 1 ? `1 to ${middle - 1} in the history` : "none: half of the users or more have a history of 1";
  const fresh = "no history: ranked by attributes where that is better, else by popularity";
  return [
    { name: "new", meaning: fresh, rows: rowsWhere((length) => length === 0) },
    { name: "light", meaning: light, rows: rowsWhere((length) => length > 0 && length < middle) },
    { name: "heavy", meaning: `${middle} or more in the history`, rows: rowsWhere((length) => length >= middle) },
  ];
}

/** The mean of each group of byHistory; null for a group without lists. */
export function meansByHistory(values: Float64Array, lengths: Uint32Array, middle: number): UserMeans {
  const meanWhere = (holds: (length: number) => boolean) => {
    const own = values.filter((_, list) => holds(lengths[list]!));
    return own.length === 0 ? null : mean(own);
  };
  return {
    new: meanWhere((length) => length === 0),
    light: meanWhere((length) => length > 0 && length < middle),
    heavy: meanWhere((length) => length >= middle),
  };
}

/** Fractions of all training positives at which the head and the middle end. */
const ENDS = [0.5, 0.8, Number.POSITIVE_INFINITY] as const;

/** Head, middle and tail items: the most popular items with half of the positives, the next ones up to four fifths, and the rest. */
function byPopularity(popularity: Uint32Array): Group[] {
  const meanings = [
    "half of the training positives",
    "the next three tenths",
    "the last fifth, and items never chosen",
  ];
  const groups = ["head", "middle", "tail"].map((name, i) => ({ name, meaning: meanings[i]!, rows: [] as number[] }));
  const order = [...popularity.keys()].sort((a, b) => popularity[b]! - popularity[a]! || a - b);
  const total = popularity.reduce((sum, count) => sum + count, 0);
  let before = 0;
  for (const item of order) {
    groups[ENDS.findIndex((end) => before < end * total || end > 1)]!.rows.push(item);
    before += popularity[item]!;
  }
  return groups;
}

/** From this number of training positives on, an item is no longer rare. */
const FREQUENT_FROM = 5;

/** Cold, rare and frequent items: without, with few, and with more training positives. Only attributes tell something of cold ones. */
function byCount(popularity: Uint32Array): Group[] {
  const rowsWhere = (holds: (count: number) => boolean) =>
    [...popularity.keys()].filter((item) => holds(popularity[item]!));
  return [
    { name: "cold", meaning: "no training positives", rows: rowsWhere((count) => count === 0) },
    {
      name: "rare",
      meaning: `1 to ${FREQUENT_FROM - 1} training positives`,
      rows: rowsWhere((count) => count > 0 && count < FREQUENT_FROM),
    },
    {
      name: "frequent",
      meaning: `${FREQUENT_FROM} or more training positives`,
      rows: rowsWhere((count) => count >= FREQUENT_FROM),
    },
  ];
}
