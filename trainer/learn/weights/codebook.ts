/** A few levels that stand for many values. `levels` ascend; `codeOf` is the index of the level nearest to a value. */
export type Codebook = { readonly levels: Float32Array; readonly codeOf: (value: number) => number };

/** Values are counted in bins before clustering. */
const BINS = 2 ** 14;
const ROUNDS = 40;

/**
 * At most `count` levels for these values (Lloyd 1982, "Least squares quantization in PCM"), clustered on signed square roots:
 * most weights are small but large ones decide the ranking, and roots are a compromise.
 */
export function codebook(values: Float32Array, count: number): Codebook {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    const root = signedRoot(value);
    if (root < least) least = root;
    if (root > most) most = root;
  }
  if (!(most > least)) return { levels: Float32Array.of(values[0] ?? 0), codeOf: () => 0 };
  const perRoot = (BINS - 1) / (most - least);
  const binOf = (value: number) => Math.max(0, Math.min(BINS - 1, Math.round((signedRoot(value) - least) * perRoot)));
  const weights = new Float64Array(BINS);
  for (const value of values) weights[binOf(value)]!++;
  let centres = firstCentres(weights, count);
  for (let round = 0; round < ROUNDS; round++) centres = clusterMeans(weights, centres);
  const codes = nearest(centres);
  const levels = Float32Array.from(centres, (bin) => signedSquare(least + bin / perRoot));
  return { levels, codeOf: (value) => codes[binOf(value)]! };
}

const signedRoot = (value: number) => Math.sign(value) * Math.sqrt(Math.abs(value));
const signedSquare = (root: number) => root * Math.abs(root);

/** Initial centres, ascending and distinct: half of them divide the values into equal counts, the other half the bins. */
function firstCentres(weights: Float64Array, count: number): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const half = Math.ceil(count / 2);
  const centres = Array.from({ length: count - half }, (_, i) => Math.floor(((i + 0.5) * BINS) / (count - half)));
  let counted = 0;
  for (let bin = 0, next = 0; next < half; bin++) {
    counted += weights[bin]!;
    for (; next < half && counted > ((next + 0.5) * total) / half; next++) centres.push(bin);
  }
  return [...new Set(centres)].sort((a, b) => a - b);
}

/** Moves each centre to the mean of the values that are nearest to it; a centre without values stays. */
function clusterMeans(weights: Float64Array, centres: readonly number[]): number[] {
  const codes = nearest(centres);
  const sums = new Float64Array(centres.length);
  const masses = new Float64Array(centres.length);
  for (let bin = 0; bin < BINS; bin++) {
    sums[codes[bin]!]! += bin * weights[bin]!;
    masses[codes[bin]!]! += weights[bin]!;
  }
  return centres.map((centre, i) => (masses[i]! > 0 ? sums[i]! / masses[i]! : centre));
}

/** For each bin, the index of the nearest centre; centres ascend. [BINS] */
function nearest(centres: readonly number[]): Uint16Array {
  const codes = new Uint16Array(BINS);
  let code = 0;
  for (let bin = 0; bin < BINS; bin++) {
    while (code < centres.length - 1 && bin > (centres[code]! + centres[code + 1]!) / 2) code++;
    codes[bin] = code;
  }
  return codes;
}
