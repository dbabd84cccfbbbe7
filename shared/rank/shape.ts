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

/** A list, and its items' scores after boosts, in standard deviations above the mean of the catalog. */
type Shaped = { readonly items: ItemIndex[]; readonly scoreOf: (item: ItemIndex) => number };

/**
 * A list from scores, in the order of the published contract: boosts, diversity, exploration, caps, pins. Pinned items count for the
 * caps of the items below them. Boosts change `scores`.
 */
export function shape(
  scores: Float32Array,
  limit: number,
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
  const pinned = [...new Set(shaping.pinned)].filter(isCandidate).slice(0, limit);
  for (const item of pinned) caps.count(item);
  const isPinned = new Set(pinned);
  const isFree = (item: ItemIndex) => !isPinned.has(item) && isCandidate(item);

  const places = limit - pinned.length;
  const poolSize = POOL_FACTOR * places;
  const pool = bestOf(scores, poolSize, isFree, among);
  let list = pool;
  if (diversity > 0 && table) {
    const likeness = attributeLikeness(table, pool);
    list = diversify(pool, scores, { weight: diversity, count: places, likeness });
  }
  if (exploration > 0) {
    const explored = explorationPlaces(places, exploration);
    const candidates = { isCandidate: isFree, among, newCount };
    const rare = bestRarelyChosen(scores, poolSize, candidates);
    const fresh = someNew(known, poolSize, candidates, seed);
    const isFresh = new Set(fresh);
    const drawnBy = (item: ItemIndex) => (isFresh.has(item) ? 0 : scoreOf(item)); // the model knows no more than the mean
    const pool = [...rare.filter((item) => !isFresh.has(item)), ...fresh];
    list = withDrawn(list, drawItems(pool, explored.length, { scoreOf: drawnBy, seed }), explored);
  }
  let batch = pool;
  const nextBatch = (isWanted: (item: ItemIndex) => boolean) => {
    if (batch.length < poolSize) return [];
    // Items above the last batch's end are in the list or have no room, so they are left out without a test.
    const ceiling = scores[batch.at(-1)!];
    batch = bestOf(scores, poolSize, (item) => isWanted(item) && isFree(item), among, ceiling);
    return batch;
  };
  return { items: [...pinned, ...fillWithin(caps, places, list, nextBatch)], scoreOf };
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
