/** Values below which a sample of them saves nothing. */
const SAMPLED_MIN = 1000;
const SAMPLED_EVERY = 16;

/**
 * The n-th largest value, 1 the largest, n at most their count; reorders them. No value may be NaN. Quickselect (Hoare 1961), of few
 * among many after a sample has told which are too small (as SELECT, Floyd and Rivest 1975): time grows as their count does.
 */
export function nthLargest(values: Float64Array | Float32Array, n: number): number {
  if (values.length < SAMPLED_MIN || 4 * n > values.length) return quickselect(values, n, values.length);
  const sample = new Float64Array(Math.floor(values.length / SAMPLED_EVERY));
  for (let i = 0; i < sample.length; i++) sample[i] = values[i * SAMPLED_EVERY]!;
  const place = n / SAMPLED_EVERY;
  const bound = quickselect(sample, Math.ceil(place + 3 * Math.sqrt(place + 1)), sample.length);
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < bound) continue;
    values[i] = values[count]!;
    values[count++] = value;
  }
  return quickselect(values, n, count < n ? values.length : count);
}

/** Of the first `count` values. */
function quickselect(values: Float64Array | Float32Array, n: number, count: number): number {
  const target = n - 1;
  let [from, to] = [0, count - 1];
  while (from < to) {
    const pivot = values[(from + to) >>> 1]!;
    let [i, j] = [from, to];
    while (i <= j) {
      while (values[i]! > pivot) i++;
      while (values[j]! < pivot) j--;
      if (i > j) break;
      const swapped = values[i]!;
      values[i++] = values[j]!;
      values[j--] = swapped;
    }
    if (target <= j) to = j;
    else if (target >= i) from = i;
    else break;
  }
  return values[target]!;
}
