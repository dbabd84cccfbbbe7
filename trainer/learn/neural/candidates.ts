/** The items that compete for the targets of one batch in a sampled softmax. */
export type Candidates = {
  /** Distinct item indices, all targets among them. */
  readonly indices: Int32Array<ArrayBuffer>; // [candidateCount]
  /** −log of the probability that an item is a candidate of such a batch. */
  readonly correction: Float32Array<ArrayBuffer>; // [candidateCount]
};

export type CandidateDraw = {
  /** How often each item is a target in all data. */
  readonly targetCounts: Float64Array; // [itemCount]
  /** Number of items that are drawn uniformly from the catalog, besides the targets. */
  readonly drawnCount: number;
  readonly random: () => number;
};

/**
 * Draws the candidates of a batch: its distinct targets, and some items of the whole catalog. The correction makes the sum
 * over candidates an estimate of the sum over the catalog (Bengio and Senécal 2008; Yi et al. 2019).
 */
export function candidateSource({ targetCounts, drawnCount, random }: CandidateDraw) {
  const itemCount = targetCounts.length;
  const total = targetCounts.reduce((sum, count) => sum + count, 0);
  const isChosen = new Uint8Array(itemCount);
  const notDrawn = (1 - 1 / itemCount) ** drawnCount; // draws are with replacement
  return (targets: Int32Array): Candidates => {
    const chosen: number[] = [];
    const choose = (item: number) => {
      if (isChosen[item] === 0) chosen.push(item);
      isChosen[item] = 1;
    };
    for (const target of targets) choose(target);
    for (let i = 0; i < drawnCount; i++) choose(Math.floor(random() * itemCount));
    const indices = Int32Array.from(chosen);
    for (const item of indices) isChosen[item] = 0;
    const correction = Float32Array.from(indices, (item) => {
      const absent = notDrawn * (1 - targetCounts[item]! / total) ** targets.length;
      return -Math.log(Math.max(1e-9, 1 - absent));
    });
    return { indices, correction };
  };
}

/** Every item competes in every batch. */
export function wholeCatalog(itemCount: number): () => Candidates {
  const indices = Int32Array.from({ length: itemCount }, (_, item) => item);
  return () => ({ indices, correction: new Float32Array(itemCount) });
}
