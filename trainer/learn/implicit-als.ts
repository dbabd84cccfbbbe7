import { type LeastSquares, partnersOf, solvedRows } from "./linear/alternating-least-squares.ts";
import { fittedLinear } from "./linear/linear-export.ts";
import { AS_SET } from "./linear/linear-model.ts";
import { type FitContext, type Method, reportProgress } from "./model.ts";
import { normal } from "./neural/sasrec-parameters.ts";
import { type Gemm, openGemm } from "./numerics/linear-algebra/gemm.ts";
import { factorLower, lowerTriangle, setRidged, solveLower } from "./numerics/linear-algebra/lower-triangle.ts";
import type { Matrix } from "./numerics/linear-algebra/matrix.ts";
import { transposed } from "./numerics/linear-algebra/matrix.ts";
import { type OuterProducts, openOuterProducts } from "./numerics/linear-algebra/outer-products.ts";
import { symmetricEigen } from "./numerics/linear-algebra/symmetric-eigen.ts";
import {
  distinctItems,
  type Histories,
  occurrencesOf,
  positiveHistories,
  timesChosen,
} from "./statistics/histories.ts";
import { type FactorWeights, factorWeights } from "./weights/weight-matrix.ts";

export type ImplicitAlsParams = {
  /** Numbers in a vector. */
  readonly rank: number;
  /** Weight of a pair that nobody chose, as a multiple of the share of pairs that were chosen. */
  readonly density: number;
  /** Ridge of a vector, times (its row's weight)^frequencyExponent. */
  readonly penalty: number;
  /** How the ridge grows with how often an item was chosen, or how much a user chose: 0 not at all, 1 in proportion. */
  readonly frequencyExponent: number;
  readonly iterations: number;
};

export const FIRST_FACTORS: ImplicitAlsParams = {
  rank: 32,
  density: 3,
  penalty: 0.1,
  frequencyExponent: 0.5,
  iterations: 8,
};

/**
 * Factors of what was chosen against all that was not, by alternating least squares (Hu, Koren and Volinsky 2008), the ridge growing with
 * how often a row occurs (Rendle, Krichene, Zhang and Koren 2022, "Revisiting the performance of iALS on item recommendation benchmarks").
 *
 * There a history's vector takes a system of its own. Here, and this is ours, all users share the matrix expected of a user of mean
 * length, so that scores are linear in the history: x V B Vᵀ, B = (α VᵀV + λ (n̄ + αN)^ν I + n̄ · Vᵀ diag(c/z) V)⁻¹.
 */
export const implicitAls: Method<ImplicitAlsParams> = {
  name: "implicit_als",
  grid: () => [
    FIRST_FACTORS,
    { ...FIRST_FACTORS, density: 6 },
    { ...FIRST_FACTORS, density: 1.5 },
    { ...FIRST_FACTORS, rank: 64 },
  ],
  cost: ({ itemCount, userCount, items }, { rank, iterations }) => ({
    seconds: 0.05 + 1e-10 * iterations * rank ** 2 * (1.1 * items.length + 3.9 * rank * (itemCount + userCount)),
    memoryMb: 100 + (8 * rank * (3 * itemCount + userCount) + 32 * items.length) / 1e6,
  }),
  async fit(data, params, context) {
    const { itemCount } = data;
    // The cost is linear in a history's length, which is why all of it teaches.
    const factors = await itemFactors(distinctItems(positiveHistories(data)), params, context);
    return fittedLinear("implicit_als", params, {
      itemCount,
      terms: [{ weighting: AS_SET, matrix: factors }],
      bias: undefined,
      uses: timesChosen(data),
    });
  },
};

/** Sizes of the part of the data that is not empty, and how often each item was chosen. */
type Counts = {
  readonly rows: number; // z
  readonly users: number; // M
  readonly items: number; // N
  readonly chosen: Uint32Array; // [itemCount]
};

async function itemFactors(
  histories: Histories,
  params: ImplicitAlsParams,
  context: FitContext,
): Promise<FactorWeights> {
  const { itemCount } = histories;
  const rank = Math.min(params.rank, itemCount);
  const counts = countsOf(histories);
  const gemm = openGemm();
  const outerProducts = await openOuterProducts();
  try {
    const found = await alternated(histories, { ...params, rank }, { counts, gemm, outerProducts, context });
    const vectors = await alongAxes(found, gemm);
    const left = await folded(vectors, params, { counts, gemm });
    return factorWeights(itemCount, rank, { left, right: transposed(vectors.values, rank) });
  } finally {
    await gemm.close();
    await outerProducts.close();
  }
}

type FoldContext = { readonly counts: Counts; readonly gemm: Gemm };
type AlternationContext = FoldContext & { readonly outerProducts: OuterProducts; readonly context: FitContext };

const FIRST_LENGTH = 0.1;

/** V: the items' vectors after the last iteration. [itemCount, rank] */
async function alternated(
  histories: Histories,
  { rank, iterations, ...params }: ImplicitAlsParams,
  { counts, gemm, outerProducts, context }: AlternationContext,
): Promise<Matrix> {
  const byUser = partnersOf(histories.start, histories.items);
  const { start, users } = occurrencesOf(histories);
  const byItem = partnersOf(start, users);
  const { random } = context;
  const deviation = FIRST_LENGTH / Math.sqrt(rank);
  const first = (_: unknown, i: number) => (counts.chosen[Math.floor(i / rank)] ? deviation * normal(random) : 0);
  let items: Matrix = {
    rows: histories.itemCount,
    columns: rank,
    values: Float32Array.from({ length: histories.itemCount * rank }, first),
  };
  const leastSquares = (step: number, detail: string, othersCount: number): LeastSquares => ({
    gemm,
    outerProducts,
    everyPair: everyPairOf(counts, params),
    ridgeOf: (count) => ridgeOf(count, othersCount, { counts, params }),
    beforePiece: (share) => reportProgress(context, (step + share) / (2 * iterations), detail),
  });
  for (let i = 0; i < iterations; i++) {
    const users = await solvedRows(byUser, items, leastSquares(2 * i, "fitting users to items", counts.items));
    items = await solvedRows(byItem, users, leastSquares(2 * i + 1, "fitting items to users", counts.users));
  }
  return items;
}

/**
 * The same vectors seen along the axes of VᵀV, the one that holds most of them first: scores stay, and where an export has no room
 * for every number of a vector, those that matter least go.
 */
async function alongAxes(vectors: Matrix, gemm: Gemm): Promise<Matrix> {
  const rank = vectors.columns;
  const gram = await gemm.multiply({ a: vectors, b: vectors, transposeA: true });
  const axes = Float32Array.from(symmetricEigen(gram.values, rank).vectors);
  return await gemm.multiply({ a: vectors, b: { rows: rank, columns: rank, values: axes }, transposeB: true });
}

type Weighing = Pick<ImplicitAlsParams, "density" | "penalty" | "frequencyExponent">;

/** α */
const everyPairOf = ({ rows, users, items }: Counts, { density }: Weighing) => (density * rows) / (users * items || 1);

/** λ (count + α · others)^ν */
const ridgeOf = (
  count: number,
  othersCount: number,
  { counts, params }: { readonly counts: Counts; readonly params: Weighing },
) => params.penalty * (count + everyPairOf(counts, params) * othersCount) ** params.frequencyExponent;

/** V B, row-major: what each entry of a history adds to its user's vector. [itemCount * rank] */
async function folded(vectors: Matrix, params: Weighing, { counts, gemm }: FoldContext): Promise<Float32Array> {
  const { rows: itemCount, columns: rank } = vectors;
  const left = new Float32Array(itemCount * rank);
  if (counts.rows === 0) return left;
  const everyPair = everyPairOf(counts, params);
  // α VᵀV + n̄ · Vᵀ diag(c/z) V, as n̄/z = 1/M.
  const weighed = vectors.values.map(
    (own, i) => (everyPair + counts.chosen[Math.floor(i / rank)]! / counts.users) * own,
  );
  const gram = await gemm.multiply({ a: { ...vectors, values: weighed }, b: vectors, transposeA: true });
  const expected = lowerTriangle(rank);
  const ridge = ridgeOf(counts.rows / counts.users, counts.items, { counts, params });
  setRidged(expected, gram.values, { factor: 1, ridge });
  factorLower(expected);
  for (let item = 0; item < itemCount; item++) {
    const own = Float64Array.from(vectors.values.subarray(item * rank, (item + 1) * rank));
    solveLower(expected, own);
    left.set(own, item * rank);
  }
  return left;
}

function countsOf({ userCount, itemCount, start, items }: Histories): Counts {
  const chosen = new Uint32Array(itemCount);
  for (const item of items) chosen[item]!++;
  let users = 0;
  for (let user = 0; user < userCount; user++) if (start[user + 1]! > start[user]!) users++;
  return { rows: items.length, users, items: chosen.reduce((count, own) => count + (own > 0 ? 1 : 0), 0), chosen };
}
