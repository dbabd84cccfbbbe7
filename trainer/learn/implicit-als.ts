import { fittedLinear } from "./linear/linear-export.ts";
import { AS_SET } from "./linear/linear-model.ts";
import { type FitContext, type Method, reportProgress } from "./model.ts";
import { addDiagonal, factor, setLower, solve, symmetricTiles } from "./numerics/linear-algebra/cholesky.ts";
import { type Gemm, openGemm } from "./numerics/linear-algebra/gemm.ts";
import { dot, type Matrix, transposed } from "./numerics/linear-algebra/matrix.ts";
import { symmetricEigen } from "./numerics/linear-algebra/symmetric-eigen.ts";
import { normal } from "./numerics/seeded-random.ts";
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

const FIRST_FACTORS: ImplicitAlsParams = {
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
 * Each system is solved by a few conjugate gradient steps from the vector of the iteration before (Takács, Pilászy and Tikk 2011).
 * Wins: as a part of a blend. Cost: iterations · rank · (entries + rank · rows).
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
    seconds: 0.05 + 1.1e-8 * iterations * rank * (2 * items.length + rank * (itemCount + userCount)),
    memoryMb: 60 + (4 * rank * (4 * itemCount + userCount) + 24 * items.length) / 1e6,
    heldMb: 20 + (8 * rank * itemCount) / 1e6,
  }),
  async fit(data, params, context) {
    const { itemCount } = data;
    // Histories are not cut, because the cost is only linear in their lengths.
    const factors = await itemFactors(distinctItems(positiveHistories(data)), params, context);
    const terms = [{ weighting: AS_SET, matrix: factors }];
    return fittedLinear("implicit_als", params, { itemCount, terms, uses: timesChosen(data) });
  },
};

/** How pairs are weighed in these histories, and how strong the ridges are. */
type Weighing = {
  /** z: distinct user–item pairs with an interaction. */
  readonly pairs: number;
  /** M: users with an interaction. */
  readonly users: number;
  /** N: items with an interaction. */
  readonly items: number;
  /** c: users of each item. */
  readonly chosen: Float64Array; // [itemCount]
  /** α: the weight of every pair, chosen or not. */
  readonly everyPair: number;
  /** λ (count + α · others)^ν: the ridge of a row that `count` of the `others` have chosen. */
  readonly ridgeOf: (count: number, others: number) => number;
};

function weighingOf(histories: Histories, { density, penalty, frequencyExponent }: ImplicitAlsParams): Weighing {
  const { userCount, start, items: entries } = histories;
  const chosen = countItems(histories);
  const items = chosen.filter((count) => count > 0).length;
  let users = 0;
  for (let user = 0; user < userCount; user++) if (start[user + 1]! > start[user]!) users++;
  const everyPair = (density * entries.length) / (users * items || 1);
  const ridgeOf = (count: number, others: number) => penalty * (count + everyPair * others) ** frequencyExponent;
  return { pairs: entries.length, users, items, chosen, everyPair, ridgeOf };
}

async function itemFactors(
  histories: Histories,
  params: ImplicitAlsParams,
  context: FitContext,
): Promise<FactorWeights> {
  const { itemCount } = histories;
  const rank = Math.min(params.rank, itemCount);
  const weighing = weighingOf(histories, params);
  const found = await alternated(histories, { ...params, rank }, { weighing, context });
  const gemm = openGemm();
  try {
    const vectors = await rotatedToAxes(found, gemm);
    const right = await folded(vectors, weighing, gemm);
    return factorWeights(itemCount, rank, { left: vectors.values, right });
  } finally {
    await gemm.close();
  }
}

/** Expected length of a random first vector. */
const FIRST_LENGTH = 0.1;

/** V: the items' vectors after the last iteration. [itemCount, rank] */
async function alternated(
  { userCount, itemCount, start, items }: Histories,
  { rank, iterations }: ImplicitAlsParams,
  { weighing, context }: { readonly weighing: Weighing; readonly context: FitContext },
): Promise<Matrix> {
  const { random } = context;
  const deviation = FIRST_LENGTH / Math.sqrt(rank);
  const first = (_: unknown, i: number) => (weighing.chosen[Math.floor(i / rank)] ? deviation * normal(random) : 0);
  const ofItems = Float32Array.from({ length: itemCount * rank }, first);
  const ofUsers = new Float32Array(userCount * rank);
  const users = { solved: ofUsers, start, partners: items, kept: ofItems };
  const { users: partners, start: itemStart } = occurrencesOf({ userCount, itemCount, start, items });
  const halves = [
    { detail: "fitting users to items", rows: users, others: weighing.items },
    {
      detail: "fitting items to users",
      rows: { solved: ofItems, start: itemStart, partners, kept: ofUsers },
      others: weighing.users,
    },
  ];
  for (let i = 0; i < iterations; i++) {
    for (const [half, { detail, others, rows }] of halves.entries()) {
      const solveRow = rowSolver(rows, rank, weighing.everyPair);
      const rowCount = rows.start.length - 1;
      for (let row = 0; row < rowCount; row++) {
        if (row % ROWS_BETWEEN_REPORTS === 0)
          await reportProgress(context, (2 * i + half + row / rowCount) / (2 * iterations), detail);
        const count = rows.start[row + 1]! - rows.start[row]!;
        if (count > 0) solveRow(row, weighing.ridgeOf(count, others));
      }
    }
  }
  return { rows: itemCount, columns: rank, values: ofItems };
}

const ROWS_BETWEEN_REPORTS = 2048;
/** Conjugate gradient steps for each row. The alternation converges as quickly as with exact solutions. */
const STEPS = 3;

/** One side's vectors are solved for while the other side's are kept. Row r has partners[start[r]] … partners[start[r + 1] − 1]. */
type HalfIteration = {
  readonly solved: Float32Array; // [rowCount * rank]
  readonly start: Uint32Array; // [rowCount + 1]
  readonly partners: Int32Array | Uint32Array;
  readonly kept: Float32Array; // [partnerCount * rank]
};

/**
 * Returns a function that improves a row's vector u towards (α VᵀV + Σ v vᵀ + ridge · I)⁻¹ Σ v, where V are the vectors of all
 * partners and v those of the row's partners (Hu, Koren and Volinsky 2008, eq. 4).
 */
function rowSolver({ solved, start, partners, kept }: HalfIteration, rank: number, everyPair: number) {
  const gram = new Float64Array(rank * rank); // α VᵀV
  for (let from = 0; from < kept.length; from += rank)
    for (let i = 0; i < rank; i++)
      for (let j = 0; j < rank; j++) gram[i * rank + j]! += everyPair * kept[from + i]! * kept[from + j]!;
  const [rest, direction, image] = [new Float64Array(rank), new Float64Array(rank), new Float64Array(rank)];

  /** image = system · x. With `rest`, the sum of the partners' vectors is added to it. */
  const apply = (x: Float64Array, row: number, ridge: number, sum?: Float64Array) => {
    for (let i = 0; i < rank; i++) {
      let value = ridge * x[i]!;
      for (let j = 0; j < rank; j++) value += gram[i * rank + j]! * x[j]!;
      image[i] = value;
    }
    for (let at = start[row]!; at < start[row + 1]!; at++) {
      const from = partners[at]! * rank;
      let product = 0;
      for (let i = 0; i < rank; i++) product += kept[from + i]! * x[i]!;
      for (let i = 0; i < rank; i++) image[i]! += product * kept[from + i]!;
      if (sum) for (let i = 0; i < rank; i++) sum[i]! += kept[from + i]!;
    }
  };

  return (row: number, ridge: number) => {
    const solution = solved.subarray(row * rank, (row + 1) * rank);
    direction.set(solution);
    apply(direction, row, ridge, rest.fill(0));
    for (let i = 0; i < rank; i++) rest[i]! -= image[i]!;
    direction.set(rest);
    let energy = dot(rest, rest);
    for (let step = 0; step < STEPS && energy > ENERGY_MIN; step++) {
      apply(direction, row, ridge);
      const length = energy / dot(direction, image);
      for (let i = 0; i < rank; i++) {
        solution[i]! += length * direction[i]!;
        rest[i]! -= length * image[i]!;
      }
      const before = energy;
      energy = dot(rest, rest);
      for (let i = 0; i < rank; i++) direction[i] = rest[i]! + (energy / before) * direction[i]!;
    }
  };
}

/** Below this squared residual a row is solved. */
const ENERGY_MIN = 1e-20;

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

/** B Vᵀ: how the sum of a history's vectors scores each item. [rank * itemCount] */
async function folded(vectors: Matrix, weighing: Weighing, gemm: Gemm): Promise<Float32Array> {
  const { rows: itemCount, columns: rank } = vectors;
  const right = transposed(vectors.values, rank);
  const { pairs, users, items, chosen, everyPair, ridgeOf } = weighing;
  if (pairs === 0) return right.fill(0);
  // α VᵀV + n̄ · Vᵀ diag(c/z) V, where n̄/z = 1/M.
  const weighed = vectors.values.map((value, i) => (everyPair + chosen[Math.floor(i / rank)]! / users) * value);
  const gram = await gemm.multiply({ a: { ...vectors, values: weighed }, b: vectors, transposeA: true });
  const expected = symmetricTiles(rank);
  for (let k = 0; k < rank; k++) setLower(expected, k, gram.values.subarray(k * rank, (k + 1) * rank));
  addDiagonal(expected, () => ridgeOf(pairs / users, items));
  return (await solve(await factor(expected, gemm), { rows: rank, columns: itemCount, values: right }, gemm)).values;
}
