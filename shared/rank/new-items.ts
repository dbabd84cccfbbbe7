/** Scores of items that the customer has added since the training, which the model does not know. No other score changes. */
import { forEachKey } from "../attribute-values.ts";
import type { ItemIndex } from "../ids.ts";
import type { Snapshot } from "../snapshot.ts";
import { topK } from "../top-k.ts";
import { describingColumns } from "./attribute-likeness.ts";
import { scaleOf } from "./score-scale.ts";
import type { Candidates } from "./shape.ts";
import { valueCounts } from "./similar.ts";

/**
 * One of this many places of a list of similar items may hold a new one, as of a list with items that nobody has chosen
 * (trainer/learn/attributes/cold-start.ts).
 */
const NEW_EVERY = 10;
/** Largest number of new items that are placed in one list. */
const PLACES_MAX = 10;
/** Cosine of two items' attribute values from which on they are alike: equal ones have 1. */
const ALIKE_MIN = 0.5;

/** Scores of all items, where each new one has the lowest score of the version's items, so that it comes last. */
export function withNewItems(scores: Float32Array, { itemCount, newCount = 0, onTable }: Snapshot): Float32Array {
  if (scores.length === itemCount + newCount) return scores;
  const extended = new Float32Array(itemCount + newCount);
  onTable?.(extended);
  extended.set(scores);
  let lowest = Infinity; // −∞ and NaN are not scores of candidates
  for (let item = 0; item < itemCount; item++) {
    const score = scores[item]!;
    if (score < lowest && score > -Infinity) lowest = score;
  }
  return extended.fill(Number.isFinite(lowest) ? lowest : 0, itemCount);
}

/**
 * Gives new items scores for their places, in place: by the version's extension or, in a list of items that are similar to `alike`, by
 * likeness to it.
 */
export function placeNewItems(
  scores: Float32Array,
  candidates: Pick<Candidates, "isCandidate" | "among">,
  alike: ItemIndex | undefined,
  snapshot: Snapshot,
): void {
  if (alike === undefined) placeByModel(scores, candidates, snapshot);
  else placeAlike(scores, alike, snapshot);
}

/**
 * Scores the new items that the version's extension knows, in place. They do not stand above what they may: the best of them stands
 * behind the tenth of the other candidates or lower, the next one behind the twentieth or lower, and so on.
 */
function placeByModel(
  scores: Float32Array,
  { isCandidate, among }: Pick<Candidates, "isCandidate" | "among">,
  { itemCount, placed }: Snapshot,
): void {
  if (placed === undefined) return;
  const isGiven = (item: ItemIndex) => typeof among === "number" || among.has(item);
  const known = scores.subarray(0, itemCount);
  const predicted = placed.scoresFrom(known, scaleOf(known).mean);
  const candidates = placed.items
    .map((at, i) => ({ item: (itemCount + at) as ItemIndex, score: predicted[i]! }))
    .filter(({ item }) => isGiven(item) && isCandidate(item));
  if (candidates.length === 0) return;
  const othersMax = Math.min(PLACES_MAX, candidates.length) * placed.every;
  const others = topK(known, othersMax, (item) => isGiven(item) && isCandidate(item));
  const lowest = others.length > 0 ? scores[others.at(-1)!]! : -Infinity;
  for (const { item, score } of candidates) scores[item] = score;
  const high = candidates.filter(({ score }) => score >= lowest); // sorting 10,000 items would take milliseconds
  high.sort((a, b) => b.score - a.score || a.item - b.item);
  let before = { score: Infinity, placed: Infinity };
  for (const [i, { item, score }] of high.entries()) {
    const above = others[Math.min((i + 1) * placed.every, others.length) - 1];
    const most = Math.fround(above === undefined ? score : Math.min(score, scores[above]!));
    // Several items may have to stand behind the same other one. They keep their order.
    scores[item] = most < before.placed ? most : score === before.score ? before.placed : below(before.placed);
    before = { score, placed: scores[item]! };
  }
}

const FLOAT = new Float32Array(1);
const BITS = new Int32Array(FLOAT.buffer);

/** The largest number of 32 bits below this one, which is finite. */
function below(number: number): number {
  FLOAT[0] = number;
  if (number > 0) BITS[0]!--;
  else if (number < 0) BITS[0]!++;
  else FLOAT[0] = -1e-45; // the smallest number below 0
  return FLOAT[0]!;
}

/**
 * Places the new items that are most like a known one in its list of similar items, in place: the first of them right behind the tenth of
 * the other items, the next one behind the twentieth, and so on.
 */
function placeAlike(scores: Float32Array, item: ItemIndex, snapshot: Snapshot): void {
  const { itemCount, isHidden = () => false } = snapshot;
  const likeness = likenessOfNew(item, snapshot);
  const placesMax = Math.min(PLACES_MAX, Math.floor((itemCount - 1) / NEW_EVERY));
  const isAlike = (at: ItemIndex) => likeness[at]! >= ALIKE_MIN && !isHidden((itemCount + at) as ItemIndex);
  const alike = topK(likeness, placesMax, isAlike);
  if (alike.length === 0) return;
  const isOther = (other: ItemIndex) => other !== item && !isHidden(other);
  const others = topK(scores.subarray(0, itemCount), alike.length * NEW_EVERY, isOther);
  for (const [i, at] of alike.entries()) {
    const above = others[(i + 1) * NEW_EVERY - 1];
    if (above !== undefined) scores[itemCount + at] = scores[above]!;
  }
}

/**
 * The cosine of each new item's attribute values with those of a known item. A value that at most one known item has counts only where
 * both have it: a number of its own makes no item unlike others.
 */
function likenessOfNew(item: ItemIndex, { itemCount, newCount = 0, attributes }: Snapshot): Float32Array {
  const tableOf = () => new Float64Array(newCount);
  const [shared, squares, itemSquares] = [tableOf(), tableOf(), tableOf()];
  for (const column of attributes ? describingColumns(attributes) : []) {
    const counts = valueCounts(column, itemCount);
    const weightOf = (key: number) => Math.log(itemCount / Math.max(1, counts[key]!)) ** 2;
    const itemKeys = new Set<number>();
    forEachKey(column, item, (key) => itemKeys.add(key));
    let square = 0;
    for (const key of itemKeys) if (counts[key]! > 1) square += weightOf(key);
    for (let at = 0; at < newCount; at++) {
      itemSquares[at]! += square;
      forEachKey(column, (itemCount + at) as ItemIndex, (key) => {
        const weight = weightOf(key);
        const isShared = itemKeys.has(key);
        if (isShared) shared[at]! += weight;
        if (isShared || counts[key]! > 1) squares[at]! += weight;
        if (isShared && counts[key]! <= 1) itemSquares[at]! += weight;
      });
    }
  }
  return Float32Array.from(shared, (sum, at) => (sum > 0 ? sum / Math.sqrt(itemSquares[at]! * squares[at]!) : 0));
}
