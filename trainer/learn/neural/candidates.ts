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
  const kept = (1 - 1 / itemCount) ** drawnCount; // an item may be drawn twice
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
