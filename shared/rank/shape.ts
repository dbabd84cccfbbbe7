import type { AttributeTable } from "../attributes.ts";
import type { ItemIndex } from "../ids.ts";
import { bestOf } from "../top-k.ts";
import { attributeLikeness } from "./attribute-likeness.ts";
import { boost, type CompiledBoost } from "./boost.ts";
import { type Caps, fillWithin } from "./caps.ts";
import { diversify } from "./diversify.ts";
import { drawItems, explorationPlaces, firstRarelyChosen, withDrawn } from "./explore.ts";
import { scaleOf } from "./score-scale.ts";

/** Shaping with everything looked up in one version. */
export type CompiledShaping = {
  readonly boosts: readonly CompiledBoost[];
  readonly diversity: number;
  readonly exploration: number;
  readonly seed: number;
  readonly caps: Caps;
  readonly pinned: readonly ItemIndex[];
  /** Null when the version has no item attributes. */
  readonly table: AttributeTable | null;
};

/** The items that a list may hold. */
export type Candidates = {
  readonly isCandidate: (item: ItemIndex) => boolean;
  /** The given items, or the size of the catalog. */
  readonly among: ReadonlySet<ItemIndex> | number;
};

/** Steps that reorder take the best candidates, this many for each place of the list. */
const POOL_FACTOR = 5;

/**
 * A list from scores, in the order of the published contract: boosts, diversity, exploration, caps, pins. Pinned items count for the
 * caps of the items below them. Boosts change `scores`.
 */
export function shape(
  scores: Float32Array,
  limit: number,
  { isCandidate, among }: Candidates,
  shaping: CompiledShaping,
): { readonly items: ItemIndex[]; readonly scores: number[] } {
  const { diversity, exploration, seed, caps, table } = shaping;
  const scale = scaleOf(scores);
  boost(scores, shaping.boosts, scale);
  const pinned = [...new Set(shaping.pinned)].filter(isCandidate).slice(0, limit);
  for (const item of pinned) caps.count(item);
  const isPinned = new Set(pinned);
  const isFree = (item: ItemIndex) => !isPinned.has(item) && isCandidate(item);
  const best = (count: number, isWanted: (item: ItemIndex) => boolean) => bestOf(scores, count, isWanted, among);
  const standard = (item: ItemIndex) => (scores[item]! - scale.mean) / scale.deviation;

  const places = limit - pinned.length;
  const poolSize = POOL_FACTOR * places;
  const firstSize = diversity > 0 ? poolSize : places;
  let list: readonly ItemIndex[] = best(firstSize, isFree);
  const isAll = list.length < firstSize;
  if (diversity > 0) {
    const likeness = table ? attributeLikeness(table, list) : () => 0;
    list = diversify(list, scores, { weight: diversity, count: places, likeness });
  }
  if (exploration > 0) {
    const explored = explorationPlaces(places, exploration);
    const rare = bestRarelyChosen(scores, poolSize, { isCandidate: isFree, among });
    list = withDrawn(list, drawItems(rare, explored.length, { scoreOf: standard, seed }), explored);
  }
  const more = (isWanted: (item: ItemIndex) => boolean) => best(poolSize, (item) => isWanted(item) && isFree(item));
  const items = [...pinned, ...fillWithin(caps, places, { first: list, isAll, batchSize: poolSize }, more)];
  return { items, scores: items.map(standard) };
}

/** The best candidates with few interactions. Only their part of the catalog is scanned. */
function bestRarelyChosen(scores: Float32Array, count: number, { isCandidate, among }: Candidates): ItemIndex[] {
  const first = firstRarelyChosen(scores.length);
  if (typeof among !== "number") return bestOf(scores, count, (item) => item >= first && isCandidate(item), among);
  const itemAt = (at: number) => (at + first) as ItemIndex;
  return bestOf(scores.subarray(first), count, (at) => isCandidate(itemAt(at)), scores.length - first).map(itemAt);
}
