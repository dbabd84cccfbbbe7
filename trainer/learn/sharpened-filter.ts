import { fittedLinear } from "./linear/linear-export.ts";
import { AS_SET, SET_HISTORY_MAX } from "./linear/linear-model.ts";
import type { Method, TrainingData } from "./model.ts";
import { type CoOccurrence, coOccurrence } from "./statistics/co-occurrence.ts";
import { divisors, graphEigen, graphFactors, graphVectorSeconds, rankFor } from "./statistics/graph-vectors.ts";
import { between, distinctItems, isVerySparse, positiveHistories, sparsity } from "./statistics/histories.ts";
import type { HopWeights } from "./weights/weight-matrix.ts";

export type SharpenedFilterParams = {
  /** A user with n items has the weight n^(−2 · userExponent). */
  readonly userExponent: number;
  /** An item is divided by popularity^itemExponent. */
  readonly itemExponent: number;
  /** Weight of S² that is taken away from S, so that what everybody chooses counts less. */
  readonly sharpen: number;
  /** Number of vectors that stand for S². */
  readonly rank: number;
  /** Weight of the vectors themselves, V Vᵀ: what many choose together counts more; absent: 0. */
  readonly smooth?: number;
  /** Eigenvalues of the vectors are levelled to this multiple of the smallest of them; absent or 0: they are not. */
  readonly plateau?: number;
  /** Scores are multiplied by popularity^targetExponent; absent: 0. */
  readonly targetExponent?: number;
};

/** The filter without its leading vectors. */
const SHARPENED_ONLY: SharpenedFilterParams = { userExponent: 0.3, itemExponent: 0.3, sharpen: 0.9, rank: 32 };

/** For very sparse data, where what few people chose together is mostly chance: the leading vectors count most. */
function smoothFilter(data: TrainingData): SharpenedFilterParams {
  const exponents = { userExponent: 0.3, itemExponent: 0.4, targetExponent: 0.3 };
  return { ...exponents, sharpen: 0, smooth: 2, rank: rankFor(data) };
}

/** Interactions from which on more vectors beside a pooled model help: 192 are better on 1.1 million, and worse on 230,000. */
const MANY_INTERACTIONS = 500_000;

/** The leading vectors all count alike (LOG.md, "More levelled vectors, and blends in codes"). */
function plateauFilter({ userCount, itemCount, items }: TrainingData): SharpenedFilterParams {
  const most = items.length < MANY_INTERACTIONS ? 128 : 192;
  // The later vectors of small data are noise. All vectors of few items, levelled, would leave nothing of S but rounding errors.
  const rank = Math.min(most, Math.ceil(Math.min(userCount, itemCount) / 64));
  return { ...SHARPENED_ONLY, sharpen: 0, rank, plateau: 2.5 };
}

/** The filter beside a pooled model. */
export const besidePooled = (data: TrainingData): SharpenedFilterParams =>
  isVerySparse(data) ? smoothFilter(data) : plateauFilter(data);

/**
 * Computes W = D_i^−b (S − sharpen · S² + smooth · V Vᵀ) D_i^p, where S = RᵀR / σ₁² with R = D_u^−a X D_i^−b: the polynomial of Turbo-CF
 * (Park et al. 2024) with the leading vectors and the degree correction of ChebyCF (Kim et al. 2025). With a plateau, ChebyCF's filter,
 * V (plateau · λ − Λ) Vᵀ is added, where λ is the smallest of the eigenvalues Λ. S is exact: it is served as two hops over the
 * interactions, which have far fewer entries. S² is given by its leading vectors.
 * Wins: large sparse sets. Cost: `rank` times the interactions.
 */
export const sharpenedFilter: Method<SharpenedFilterParams> = {
  name: "sharpened_filter",
  grid(data) {
    const position = sparsity(data);
    const [smooth, targetExponent] = [between(0, 0.2, position), between(0, 0.15, position)];
    const settings = { ...SHARPENED_ONLY, rank: rankFor(data), smooth, targetExponent };
    const others = [settings, plateauFilter(data)];
    return isVerySparse(data) ? [smoothFilter(data), ...others] : [...others, smoothFilter(data)];
  },
  cost: (data, { rank }) => ({
    seconds: 0.1 + graphVectorSeconds(data, rank),
    memoryMb: 100 + (16 * data.itemCount * rank + 48 * data.items.length) / 1e6,
  }),
  async fit(data, params, context) {
    const { userExponent, itemExponent, sharpen, rank, smooth = 0, plateau = 0, targetExponent = 0 } = params;
    const counts = coOccurrence(distinctItems(positiveHistories(data, SET_HISTORY_MAX)), 2 * userExponent);
    const divisor = divisors(counts, itemExponent);
    const eigen = await graphEigen(counts, { divisor, count: rank, context });
    const to = divisors(counts, targetExponent);
    const hops = hopsOver(counts, { divisor, to, largest: eigen.values[0] || 1 });
    const level = (plateau * (eigen.values.at(-1) ?? 0)) / (eigen.values[0] || 1);
    const response = (eigenvalue: number) =>
      smooth - sharpen * eigenvalue ** 2 + (plateau > 0 ? level - eigenvalue : 0);
    const common = graphFactors(eigen, response, { from: divisor, to });
    const terms = [hops, common].map((matrix) => ({ weighting: AS_SET, matrix }));
    return fittedLinear("sharpened_filter", params, { itemCount: data.itemCount, terms });
  },
};

type HopScales = { readonly divisor: Float64Array; readonly to: Float64Array; readonly largest: number };

/** D_i^−b S D_i^p. */
function hopsOver({ histories, weights }: CoOccurrence, { divisor, to, largest }: HopScales): HopWeights {
  const { userCount, itemCount, start, items } = histories;
  const sizes = { rowCount: userCount, columnCount: itemCount };
  return {
    kind: "hops",
    rowCount: itemCount,
    columnCount: itemCount,
    users: { kind: "sparse", ...sizes, start, columns: items, values: new Float32Array(items.length).fill(1) },
    rowFactors: Float32Array.from(divisor, (value) => value ** -2),
    userFactors: Float32Array.from(weights, (weight) => weight / largest),
    columnFactors: Float32Array.from(divisor, (value, item) => to[item]! / value),
  };
}
