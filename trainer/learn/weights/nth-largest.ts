/** For fewer values a sample saves no time. */
const SAMPLED_MIN = 1000;
const SAMPLED_EVERY = 16;

/**
 * The n-th largest value, where n = 1 is the largest and n is at most the number of values. Reorders the values; none may be
 * NaN. Quickselect (Hoare 1961). If n is small, a sample first shows which values are too small (as SELECT, Floyd and Rivest
 * 1975). The time is linear in the number of values.
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

/** The n-th largest of the first `count` values. */
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
