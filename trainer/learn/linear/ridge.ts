/** Smallest ridge relative to the mean, so that features that never occur stay solvable. */
const RELATIVE_MIN = 1e-3;

/**
 * The ridge of each feature: λ · g^γ · mean(g)^(1−γ), where g are the features' second moments. The mean is over features that
 * occur, so that items without interactions do not lower it.
 */
export function ridgeOf(moments: Float64Array, lambda: number, exponent: number): Float64Array {
  const mean = meanOf(moments);
  return moments.map((moment) => Math.max(lambda * moment ** exponent * mean ** (1 - exponent), RELATIVE_MIN * mean));
}

/** Mean of the values above 0; 1 if there are none. */
export function meanOf(moments: Float64Array): number {
  let [sum, count] = [0, 0];
  for (const value of moments) {
    sum += value;
    if (value > 0) count++;
  }
  return count > 0 ? sum / count : 1;
}
