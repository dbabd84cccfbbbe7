/** Least ridge relative to the mean: so that a feature that never occurs does no harm. */
const LEAST = 1e-3;

/**
 * The ridge of each feature, λ·g^γ·mean(g)^(1−γ), from the second moments g of the features. The mean is over those
 * that occur: items without interactions must not weaken it.
 */
export function ridgeOf(moments: Float64Array, lambda: number, exponent: number): Float64Array {
  const mean = meanOf(moments);
  return moments.map((own) => Math.max(lambda * own ** exponent * mean ** (1 - exponent), LEAST * mean));
}

/** Over the values above 0; 1 if there are none. */
export function meanOf(moments: Float64Array): number {
  let [sum, count] = [0, 0];
  for (const value of moments) {
    sum += value;
    if (value > 0) count++;
  }
  return count > 0 ? sum / count : 1;
}
