/** Coverage, Gini coefficient and popularity percentile of lists, with intervals. */
import type { MeasuredMean } from "../../../shared/evaluation-report.ts";
import { type Interval, toMeasured } from "./bootstrap.ts";
import type { Evaluation } from "./evaluate.ts";
import { popularityPercentiles } from "./metrics.ts";

/** A figure of all lists, and of the lists without one group of users after the other. */
export type Jackknife = { readonly all: number; readonly without: Float64Array };
/** By name and cut-off, such as `coverage@10`. */
export type ShapeFigures = ReadonlyMap<string, Jackknife>;

const GROUPS_MAX = 50;

/**
 * The figures that `listShape` has, each also without the users of one group. Users are dealt to up to 50 groups in turn.
 *
 * @param popularity [itemCount] training positives of each item.
 */
export function shapeFigures(evaluation: Evaluation, popularity: ArrayLike<number>): ShapeFigures {
  const percentiles = popularityPercentiles(popularity);
  const { groupOf, groupCount } = groupsOf(evaluation.owners);
  const figures = new Map<string, Jackknife>();
  for (const k of evaluation.cutOffs) {
    const exposure = exposureOf(percentiles);
    const shownByGroup = Array.from({ length: groupCount }, (): number[] => []);
    forEachPlace(evaluation, k, (list, item) => {
      exposure.add(item, 1);
      shownByGroup[groupOf[list]!]!.push(item);
    });
    const all = exposure.figures();
    const without = shownByGroup.map((items) => {
      for (const item of items) exposure.add(item, -1);
      const rest = exposure.figures();
      for (const item of items) exposure.add(item, 1);
      return rest;
    });
    for (const name of SHAPE_NAMES)
      figures.set(`${name}@${k}`, { all: all[name], without: Float64Array.from(without, (rest) => rest[name]) });
  }
  return figures;
}

const SHAPE_NAMES = ["coverage", "gini", "popularity_percentile"] as const;

function groupsOf(owners: Uint32Array) {
  const numbers = new Map<number, number>();
  for (const owner of owners) if (!numbers.has(owner)) numbers.set(owner, numbers.size);
  const groupCount = Math.min(GROUPS_MAX, numbers.size);
  return { groupCount, groupOf: Uint32Array.from(owners, (owner) => numbers.get(owner)! % groupCount) };
}

function forEachPlace({ lists, listLength }: Evaluation, k: number, visit: (list: number, item: number) => void): void {
  for (let at = 0; at < lists.length; at++)
    if (at % listLength < k && lists[at]! >= 0) visit(Math.floor(at / listLength), lists[at]!);
}

/** How often items are shown. A change takes constant time, and the figures as many steps as there are different counts. */
function exposureOf(percentiles: Float64Array) {
  const itemCount = percentiles.length;
  const shown = new Uint32Array(itemCount);
  const itemsShown = new Map([[0, itemCount]]); // number of items by the number of times that they are shown
  let places = 0;
  let percentileSum = 0;
  const count = (times: number, change: number) => {
    const next = (itemsShown.get(times) ?? 0) + change;
    if (next === 0) itemsShown.delete(times);
    else itemsShown.set(times, next);
  };
  return {
    add(item: number, times: number) {
      count(shown[item]!, -1);
      shown[item]! += times;
      count(shown[item]!, 1);
      places += times;
      percentileSum += times * percentiles[item]!;
    },
    figures() {
      let before = 0; // items that are shown less often
      let weighted = 0; // Σ (2i − n − 1)·x_i of metrics.ts, over blocks of equal x
      for (const times of [...itemsShown.keys()].sort((a, b) => a - b)) {
        const items = itemsShown.get(times)!;
        weighted += times * items * (2 * before + items - itemCount);
        before += items;
      }
      return {
        coverage: itemCount === 0 ? 0 : (itemCount - (itemsShown.get(0) ?? 0)) / itemCount,
        gini: places === 0 ? 0 : weighted / (itemCount * places),
        popularity_percentile: places === 0 ? Number.NaN : percentileSum / places,
      };
    },
  };
}

/** Each figure with its 95 % interval. */
export const measuredShape = (figures: ShapeFigures): Record<string, MeasuredMean> => measuredEach(figures, 0);

/** Each figure of `own` minus that of `other`. Both must be of the same users. */
export function measuredShapeLift(own: ShapeFigures, other: ShapeFigures): Record<string, MeasuredMean> {
  const differences = [...own].map(([name, { all, without }]): [string, Jackknife] => {
    const theirs = other.get(name)!;
    return [name, { all: all - theirs.all, without: without.map((value, group) => value - theirs.without[group]!) }];
  });
  return measuredEach(new Map(differences), -1);
}

const measuredEach = (figures: ShapeFigures, least: number) =>
  Object.fromEntries([...figures].map(([name, figure]) => [name, toMeasured(jackknifed(figure, least))]));

/** Quantile of the normal distribution for 95 %, and the correction for few groups (the first term towards Student's t). */
const NORMAL = 1.96;
const FEW_GROUPS = 2.37;

/**
 * A jackknife over groups of users. A bootstrap would be wrong here: a resample has fewer different users, who together are shown fewer
 * different items. The jackknife's variance is never too small on average (Efron and Stein, 1981).
 */
function jackknifed({ all, without }: Jackknife, least: number): Interval {
  const groups = without.length;
  if (groups < 2) return { value: all, low: all, high: all };
  const mean = without.reduce((sum, value) => sum + value, 0) / groups;
  const variance = ((groups - 1) / groups) * without.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const margin = (NORMAL + FEW_GROUPS / (groups - 1)) * Math.sqrt(variance);
  return { value: all, low: Math.max(least, all - margin), high: Math.min(1, all + margin) };
}
