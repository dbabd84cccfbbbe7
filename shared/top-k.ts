import type { ItemIndex } from "./ids.ts";

/**
 * The best-scored candidates, best first.
 *
 * @param scores Float32Array(itemCount). Higher is better; −∞ and NaN mean "not a candidate".
 * @param limit How many items to return at most; an integer ≥ 0.
 * @param isCandidate Called only for items that would enter the list: about limit·ln(itemCount/limit) times for scores in random order.
 *   It must return the same for the same item.
 * @param ceiling Items with higher scores are left out.
 * @returns Between 0 and `limit` items; fewer only if fewer candidates exist.
 *
 * Items with equal scores stay in catalog order, so that the same scores give the same list on every engine.
 */
export function topK(
  scores: Float32Array,
  limit: number,
  isCandidate: (item: ItemIndex) => boolean = () => true,
  ceiling = Infinity,
): ItemIndex[] {
  if (limit <= 0) return [];
  // A binary heap with the worst item on top: heap[0] is replaced next.
  const heap: ItemIndex[] = [];
  let threshold = -Infinity; // the score of heap[0] once the heap is full
  const next = (from: number) => firstWithin(scores, threshold, ceiling, from);
  for (let item = next(0); item < scores.length; item = next(item + 1)) {
    if (!isCandidate(item as ItemIndex)) continue;
    if (heap.length < limit) siftUp(heap, item as ItemIndex, scores);
    else siftDown(heap, item as ItemIndex, scores);
    if (heap.length === limit) threshold = scores[heap[0]!]!;
  }
  return heap.sort((a, b) => scores[b]! - scores[a]! || a - b);
}

/**
 * The best candidates, best first.
 *
 * @param scores Absent: the candidates in catalog order.
 * @param among The items to choose from: the given ones, or the whole catalog by its size.
 * @param ceiling Items with higher scores are left out.
 */
export function bestOf(
  scores: Float32Array | undefined,
  limit: number,
  isCandidate: (item: ItemIndex) => boolean,
  among: ReadonlySet<ItemIndex> | number,
  ceiling = Infinity,
): ItemIndex[] {
  if (typeof among === "number")
    return scores ? topK(scores, limit, isCandidate, ceiling) : firstCandidates(among, limit, isCandidate);
  const scoreOf = (item: ItemIndex) => (scores ? scores[item]! : 0);
  return [...among]
    .filter((item) => scoreOf(item) > -Infinity && scoreOf(item) <= ceiling && isCandidate(item))
    .sort((a, b) => scoreOf(b) - scoreOf(a) || a - b)
    .slice(0, limit);
}

/** The result of topK for equal scores, without an array of scores: the first candidates of the catalog. */
export function firstCandidates(
  itemCount: number,
  limit: number,
  isCandidate: (item: ItemIndex) => boolean,
): ItemIndex[] {
  const found: ItemIndex[] = [];
  for (let item = 0; item < itemCount && found.length < limit; item++)
    if (isCandidate(item as ItemIndex)) found.push(item as ItemIndex);
  return found;
}

/**
 * The first item at or after `from` with a score above the threshold and not above the ceiling; scores.length if there is none. It is a
 * function of its own so that engines compile this loop over the whole catalog early and well.
 */
function firstWithin(scores: Float32Array, threshold: number, ceiling: number, from: number): number {
  const { length } = scores;
  let item = from;
  while (item < length && !(scores[item]! > threshold && scores[item]! <= ceiling)) item++; // also skips NaN
  return item;
}

/** Whether item a is replaced before item b. */
const isWorse = (a: ItemIndex, b: ItemIndex, scores: Float32Array) =>
  scores[a]! < scores[b]! || (scores[a]! === scores[b]! && a > b);

function siftUp(heap: ItemIndex[], item: ItemIndex, scores: Float32Array): void {
  let hole = heap.length;
  heap.push(item);
  while (hole > 0) {
    const parent = (hole - 1) >> 1;
    if (!isWorse(item, heap[parent]!, scores)) break;
    heap[hole] = heap[parent]!;
    hole = parent;
  }
  heap[hole] = item;
}

/** Replaces the worst item of the heap by `item`. */
function siftDown(heap: ItemIndex[], item: ItemIndex, scores: Float32Array): void {
  let hole = 0;
  for (;;) {
    let child = 2 * hole + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isWorse(heap[child + 1]!, heap[child]!, scores)) child++;
    if (!isWorse(heap[child]!, item, scores)) break;
    heap[hole] = heap[child]!;
    hole = child;
  }
  heap[hole] = item;
}
