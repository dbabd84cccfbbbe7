/** What competes for the targets of one batch in a sampled softmax. */
export type Candidates = {
  /** Item indices, none twice; every target among them. */
  readonly indices: Int32Array<ArrayBuffer>; // [candidateCount]
  readonly targetPlaces: Int32Array<ArrayBuffer>; // [targetCount] place of each target in `indices`
  /** −log of the chance that an item is a candidate of such a batch. */
  readonly correction: Float32Array<ArrayBuffer>; // [candidateCount]
};

export type CandidateDraw = {
  /** [itemCount] how often each item is a target in all the data. */
  readonly targetCounts: Float64Array;
  /** Items drawn evenly from the catalog besides the targets. */
  readonly drawnCount: number;
  readonly random: () => number;
};

/**
 * Draws candidates: the batch's own targets, each once, and some of the whole catalog. The correction makes the sum
 * over candidates stand for the sum over the catalog (Bengio and Senécal 2008; Yi et al. 2019).
 */
export function candidateSource({ targetCounts, drawnCount, random }: CandidateDraw) {
  const itemCount = targetCounts.length;
  const total = targetCounts.reduce((sum, count) => sum + count, 0);
  const place = new Int32Array(itemCount).fill(-1);
  const kept = Math.max(0, 1 - drawnCount / itemCount);
  return (targets: Int32Array): Candidates => {
    const chosen: number[] = [];
    const choose = (item: number) => {
      if (place[item]! < 0) place[item] = chosen.push(item) - 1;
      return place[item]!;
    };
    const targetPlaces = Int32Array.from(targets, choose);
    for (let i = 0; i < drawnCount; i++) choose(Math.floor(random() * itemCount));
    const indices = Int32Array.from(chosen);
    for (const item of indices) place[item] = -1;
    const correction = Float32Array.from(indices, (item) => {
      const missed = kept * (1 - targetCounts[item]! / total) ** targets.length;
      return -Math.log(Math.max(1e-9, 1 - missed));
    });
    return { indices, targetPlaces, correction };
  };
}

/** What competes for every target of a batch, drawn without a look at the batch. */
export type Drawn = {
  /** Item indices; one may come twice. */
  readonly indices: Int32Array<ArrayBuffer>; // [drawnCount]
  /** −log of how often an item is expected in such a draw. */
  readonly correction: Float32Array<ArrayBuffer>; // [drawnCount]
};

/** Share of draws that are even over the catalog; the others are as frequent as the items' targets (Yang et al. 2020). */
const EVEN_SHARE = 0.5;

/** Draws items, with replacement, half of them evenly and half by how often they are targets. */
export function drawSource({ targetCounts, drawnCount, random }: CandidateDraw): () => Drawn {
  const itemCount = targetCounts.length;
  const upTo = new Float64Array(itemCount);
  let total = 0;
  for (const [item, count] of targetCounts.entries()) upTo[item] = total += count;
  const chances = Float64Array.from(
    targetCounts,
    (count) => EVEN_SHARE / itemCount + ((1 - EVEN_SHARE) * count) / total,
  );
  const draw = () => (random() < EVEN_SHARE ? Math.floor(random() * itemCount) : firstAbove(upTo, random() * total));
  return () => {
    const indices = Int32Array.from({ length: drawnCount }, draw);
    const correction = Float32Array.from(indices, (item) => -Math.log(drawnCount * chances[item]!));
    return { indices, correction };
  };
}

/** Place of the first of ascending values that is above `value`. */
function firstAbove(ascending: Float64Array, value: number): number {
  let [low, high] = [0, ascending.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
