import type { AttributeTable } from "../attributes.ts";
import type { ItemIndex } from "../ids.ts";
import { bestOf } from "../top-k.ts";
import { attributeLikeness } from "./attribute-likeness.ts";
import { boost, type CompiledBoost } from "./boost.ts";
import { type Caps, fillWithin } from "./caps.ts";
import { diversify } from "./diversify.ts";
import { drawItems, explorationPlaces, firstRarelyChosen, withDrawn } from "./explore.ts";
import { type ScoreScale, scaleOf } from "./score-scale.ts";

/** Shaping with everything looked up in one version. */
export type CompiledShaping = {
  readonly boosts: readonly CompiledBoost[];
  readonly diversity: number;
  readonly exploration: number;
  readonly seed: number;
  readonly caps: Caps;
  readonly pinned: readonly ItemIndex[];
  /** Null when the version has no item attributes, which `diversity` needs. */
  readonly table: AttributeTable | null;
};

/** The items that a list may hold. */
export type Candidates = {
  readonly isCandidate: (item: ItemIndex) => boolean;
  /** The given items, or the size of the catalog. */
  readonly among: ReadonlySet<ItemIndex> | number;
  /** The last items of the catalog that the model does not know. */
  readonly newCount: number;
};

/** The steps choose among the best candidates, this many for each place of the list. */
const POOL_FACTOR = 5;

/** A list up to the end of a page, and its items' scores after boosts, in standard deviations above the mean of the catalog. */
type Shaped = { readonly items: ItemIndex[]; readonly scoreOf: (item: ItemIndex) => number };

/**
 * A list from scores, in the order of the published contract: boosts, diversity, exploration, caps, pins. Pinned items count for the
 * caps of the items below them. Boosts change `scores`.
 *
 * Boosts, caps and pins give the same items whatever the list's length. The choice by diversity and exploration depends on the number of
 * places, so a list is then made page by page, each from the best candidates that the pages before it leave.
 */
export function shape(
  scores: Float32Array,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  { isCandidate, among, newCount }: Candidates,
  { boosts, diversity, exploration, seed, caps, table, ...shaping }: CompiledShaping,
): Shaped {
  const known = scores.length - newCount;
  let scale: ScoreScale | undefined;
  const scoreOf = (item: ItemIndex) => {
    scale ??= scaleOf(scores.subarray(0, known)); // takes a pass over the catalog, which most lists do not need
    return (scores[item]! - scale.mean) / scale.deviation;
  };
  if (boosts.length > 0) {
    scale = scaleOf(scores.subarray(0, known));
    boost(scores, boosts, scale);
  }
  const end = offset + limit;
  const pageSize = diversity > 0 || exploration > 0 ? limit : end;
  const pinned = [...new Set(shaping.pinned)].filter(isCandidate).slice(0, end);
  for (const item of pinned) caps.count(item);
  const taken = new Set(pinned);
  const isFree = (item: ItemIndex) => !taken.has(item) && isCandidate(item);

  const bestPoolSize = end - pageSize + POOL_FACTOR * pageSize; // enough for every page, whatever the pages before it take
  const best = bestOf(scores, bestPoolSize, isFree, among);
  const rare = exploration > 0 ? bestRarelyChosen(scores, bestPoolSize, { isCandidate: isFree, among, newCount }) : [];
  const freeOf = (pool: readonly ItemIndex[], count: number) => pool.filter((item) => !taken.has(item)).slice(0, count);

  const items: ItemIndex[] = [];
  for (let start = 0; start < end; start += pageSize) {
    const pins = pinned.slice(start, start + pageSize);
    const places = pageSize - pins.length;
    const poolSize = POOL_FACTOR * places;
    const pool = freeOf(best, poolSize);
    let page = pool;
    if (diversity > 0 && table) {
      const likeness = attributeLikeness(table, pool);
      page = diversify(pool, scores, { weight: diversity, count: places, likeness });
    }
    if (exploration > 0) {
      const explored = explorationPlaces(places, exploration);
      const fresh = someNew(known, poolSize, { isCandidate: isFree, among, newCount }, seed);
      const isFresh = new Set(fresh);
      const drawnBy = (item: ItemIndex) => (isFresh.has(item) ? 0 : scoreOf(item)); // the model knows no more than the mean
      const drawable = [...freeOf(rare, poolSize).filter((item) => !isFresh.has(item)), ...fresh];
      page = withDrawn(page, drawItems(drawable, explored.length, { scoreOf: drawnBy, seed }), explored);
    }
    let batch = pool;
    const nextBatch = (isWanted: (item: ItemIndex) => boolean) => {
      if (batch.length < poolSize) return [];
      // Items above the last batch's end are in the list or have no room, so they are left out without a test.
      const ceiling = scores[batch.at(-1)!];
      batch = bestOf(scores, poolSize, (item) => isWanted(item) && isFree(item), among, ceiling);
      return batch;
    };
    const filled = fillWithin(caps, places, page, nextBatch);
    for (const item of filled) taken.add(item);
    items.push(...pins, ...filled);
  }
  return { items, scoreOf };
}

/** The best candidates with few interactions. Only their part of the catalog is scanned. */
function bestRarelyChosen(
  scores: Float32Array,
  count: number,
  { isCandidate, among, newCount }: Candidates,
): ItemIndex[] {
  const first = firstRarelyChosen(scores.length - newCount);
  if (typeof among !== "number") return bestOf(scores, count, (item) => item >= first && isCandidate(item), among);
  const itemAt = (at: number) => (at + first) as ItemIndex;
  return bestOf(scores.subarray(first), count, (at) => isCandidate(itemAt(at)), scores.length - first).map(itemAt);
}

/** At most `count` new candidates: the first ones from a place on that the seed decides, so that each of many gets a chance. */
function someNew(
  known: number,
  count: number,
  { isCandidate, among, newCount }: Candidates,
  seed: number,
): ItemIndex[] {
  const found: ItemIndex[] = [];
  for (let i = 0; i < newCount && found.length < count; i++) {
    const item = (known + ((seed + i) % newCount)) as ItemIndex;
    if ((typeof among === "number" || among.has(item)) && isCandidate(item)) found.push(item);
  }
  return found;
}
