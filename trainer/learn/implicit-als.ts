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
  countItems,
  distinctItems,
  type Histories,
  occurrencesOf,
  positiveHistories,
  timesChosen,
} from "./statistics/histories.ts";
import { type FactorWeights, factorWeights } from "./weights/weight-matrix.ts";

export type ImplicitAlsParams = {
  /** Length of the item and user vectors. */
  readonly rank: number;
  /** Weight of a user–item pair without an interaction, as a multiple of the fraction of pairs that have one. */
  readonly density: number;
  /** λ: the ridge of a vector is λ · (its row's weight)^frequencyExponent. */
  readonly penalty: number;
  /** ν: how the ridge grows with the number of an item's or a user's interactions; 0: not at all, 1: in proportion. */
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
 * Computes item vectors V by alternating least squares on all user–item pairs (Hu, Koren and Volinsky 2008), with a ridge that grows
 * with a row's frequency (Rendle, Krichene, Zhang and Koren 2022, "Revisiting the performance of iALS on item recommendation
 * benchmarks").
 *
 * The papers solve one system for each history. Here all histories share the matrix expected for a user of mean length n̄, so that
 * scores are linear in the history x: x V B Vᵀ, B = (α VᵀV + λ (n̄ + αN)^ν I + n̄ · Vᵀ diag(c/z) V)⁻¹.
 * Wins: as a part of a blend. Cost: iterations · rank² · (entries + rank · rows).
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
    // Histories are not cut, because the cost is only linear in their lengths.
    const factors = await itemFactors(distinctItems(positiveHistories(data)), params, context);
    const terms = [{ weighting: AS_SET, matrix: factors }];
    return fittedLinear("implicit_als", params, { itemCount, terms, uses: timesChosen(data) });
  },
};

type Counts = {
  /** z: distinct user–item pairs with an interaction. */
  readonly rows: number;
  /** M: users with an interaction. */
  readonly users: number;
  /** N: items with an interaction. */
  readonly items: number;
  /** c: users of each item. */
  readonly chosen: Float64Array; // [itemCount]
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
    const vectors = await rotatedToAxes(found, gemm);
    const left = await folded(vectors, params, { counts, gemm });
    return factorWeights(itemCount, rank, { left, right: transposed(vectors.values, rank) });
  } finally {
    await gemm.close();
    await outerProducts.close();
  }
}

type FoldContext = { readonly counts: Counts; readonly gemm: Gemm };
type AlternationContext = FoldContext & { readonly outerProducts: OuterProducts; readonly context: FitContext };

/** Expected length of a random first vector. */
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
    beforePiece: (fraction) => reportProgress(context, (step + fraction) / (2 * iterations), detail),
  });
  for (let i = 0; i < iterations; i++) {
    const users = await solvedRows(byUser, items, leastSquares(2 * i, "fitting users to items", counts.items));
    items = await solvedRows(byItem, users, leastSquares(2 * i + 1, "fitting items to users", counts.users));
  }
  return items;
}

/**
 * Rotates the vectors onto the eigenvectors of VᵀV, largest eigenvalue first. Scores do not change; an export that must cut vectors
 * then drops the least important numbers.
 */
async function rotatedToAxes(vectors: Matrix, gemm: Gemm): Promise<Matrix> {
  const rank = vectors.columns;
  const gram = await gemm.multiply({ a: vectors, b: vectors, transposeA: true });
  const axes = Float32Array.from(symmetricEigen(gram.values, rank).vectors);
  return await gemm.multiply({ a: vectors, b: { rows: rank, columns: rank, values: axes }, transposeB: true });
}

type Weighing = Pick<ImplicitAlsParams, "density" | "penalty" | "frequencyExponent">;

/** α: the weight of every pair, chosen or not. */
const everyPairOf = ({ rows, users, items }: Counts, { density }: Weighing) => (density * rows) / (users * items || 1);

/** λ (count + α · others)^ν */
const ridgeOf = (
  count: number,
  othersCount: number,
  { counts, params }: { readonly counts: Counts; readonly params: Weighing },
) => params.penalty * (count + everyPairOf(counts, params) * othersCount) ** params.frequencyExponent;

/** V B, row-major: what each history entry adds to its user's vector. [itemCount * rank] */
async function folded(vectors: Matrix, params: Weighing, { counts, gemm }: FoldContext): Promise<Float32Array> {
  const { rows: itemCount, columns: rank } = vectors;
  const left = new Float32Array(itemCount * rank);
  if (counts.rows === 0) return left;
  const everyPair = everyPairOf(counts, params);
  // α VᵀV + n̄ · Vᵀ diag(c/z) V, where n̄/z = 1/M.
  const weighed = vectors.values.map(
    (value, i) => (everyPair + counts.chosen[Math.floor(i / rank)]! / counts.users) * value,
  );
  const gram = await gemm.multiply({ a: { ...vectors, values: weighed }, b: vectors, transposeA: true });
  const expected = lowerTriangle(rank);
  const ridge = ridgeOf(counts.rows / counts.users, counts.items, { counts, params });
  setRidged(expected, gram.values, { factor: 1, ridge });
  factorLower(expected);
  for (let item = 0; item < itemCount; item++) {
    const vector = Float64Array.from(vectors.values.subarray(item * rank, (item + 1) * rank));
    solveLower(expected, vector);
    left.set(vector, item * rank);
  }
  return left;
}

function countsOf(histories: Histories): Counts {
  const { userCount, start, items } = histories;
  const chosen = countItems(histories);
  let users = 0;
  for (let user = 0; user < userCount; user++) if (start[user + 1]! > start[user]!) users++;
  return { rows: items.length, users, items: chosen.filter((count) => count > 0).length, chosen };
}
