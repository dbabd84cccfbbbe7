import type { ItemIndex } from "../ids.ts";
import type { DenseRecipe, LinearRecipe, RightRecipe } from "../score-recipe.ts";
import type { Asked, FewScores } from "./asked-scores.ts";
import { biasSumsOf, type ScoreSums, sumsOfProducts } from "./catalog-moments.ts";
import { addSparse, addSparseWithSums, type Bias, type Scored, type SparseRow, sparseReader } from "./few-sparse.ts";
import { weighedItems } from "./history-weights.ts";
import { asBytes, dot, rightReader } from "./item-columns.ts";
import { denseReader, type RecipeFiles } from "./recipe-files.ts";

/** The weights of the items that a term reads, by history. */
type Weights = readonly ReadonlyMap<ItemIndex, number>[];

/** Scores of a linear model. Undefined where the sums over the catalog are wanted and would take too long. */
export function fewLinear(recipe: LinearRecipe, asked: Asked): FewScores | undefined {
  const { histories, items, files, wantsSums } = asked;
  const bias = biasIn(recipe, files, wantsSums);
  const scored = { items, scores: histories.map(() => Float64Array.from(items, (item) => bias?.of(item) ?? 0)) };
  const sparse: SparseRow[] = [];
  const profiles: { readonly right: RightRecipe; readonly byHistory: readonly Float64Array[] }[] = [];
  for (const { weighting, matrix } of recipe.terms) {
    const weights = histories.map((history) => weighedItems(history, weighting));
    if (matrix.kind === "sparse") {
      const rows = byItem(weights);
      for (const [item, byHistory] of rows) sparse.push({ row: matrix.first_row + item, weights: byHistory });
    } else if (matrix.kind === "dense") {
      if (wantsSums) return undefined; // of small catalogs, whose scores are quickly computed by the graph
      addDense(weights, denseReader(matrix.rows, files), scored);
    } else {
      const { left, right } = matrix;
      const exact = profilesOf(weights, left, files);
      const byHistory = "kind" in right ? exact.map(asBytes) : exact;
      addProducts(byHistory, rightReader(right, files), scored);
      profiles.push({ right, byHistory });
    }
  }
  const reader = recipe.sparse && sparseReader(recipe.sparse, files);
  if (!wantsSums) {
    if (reader) addSparse(sparse, reader, scored);
    return { scores: scored.scores, sums: [] };
  }
  const [factors, ...others] = profiles;
  if (!factors) {
    const sums = reader
      ? addSparseWithSums(sparse, reader, { ...scored, bias })
      : histories.map(() => bias?.sums ?? NO_SUMS);
    return sums && { scores: scored.scores, sums };
  }
  // The sums for several kinds of terms would need the products of all pairs.
  if (others.length > 0 || reader || bias) return undefined;
  const sums = factors.byHistory.map((profile) => sumsOfProducts(profile, factors.right.file, files));
  return { scores: scored.scores, sums };
}

const NO_SUMS: ScoreSums = { sum: 0, squares: 0 };

/** Weights of items by history → weights by item for all histories. */
function byItem(weights: Weights): Map<ItemIndex, Float64Array> {
  const found = new Map<ItemIndex, Float64Array>();
  for (const [g, ofHistory] of weights.entries())
    for (const [item, weight] of ofHistory) {
      const row = found.get(item) ?? new Float64Array(weights.length);
      row[g] = weight;
      found.set(item, row);
    }
  return found;
}

type ValueAt = (row: number, column: number) => number;

function addDense(weights: Weights, valueAt: ValueAt, { items, scores }: Scored): void {
  for (const [row, byHistory] of byItem(weights))
    for (const [k, column] of items.entries()) {
      const value = valueAt(row, column);
      for (const [g, ofHistory] of scores.entries()) ofHistory[k]! += byHistory[g]! * value;
    }
}

/** The weighted sum of the history's rows, by history. [rank] */
function profilesOf(weights: Weights, left: DenseRecipe, files: RecipeFiles): Float64Array[] {
  const valueAt = denseReader(left, files);
  return weights.map((ofHistory) => {
    const profile = new Float64Array(left.columns);
    for (const [item, weight] of ofHistory)
      for (let k = 0; k < profile.length; k++) profile[k]! += weight * valueAt(item, k);
    return profile;
  });
}

function addProducts(
  profiles: readonly Float64Array[],
  numberAt: ReturnType<typeof rightReader>,
  { items, scores }: Scored,
): void {
  const rank = profiles[0]?.length ?? 0;
  for (const [k, item] of items.entries()) {
    const column = Float64Array.from({ length: rank }, (_, i) => numberAt(item, i));
    for (const [g, profile] of profiles.entries()) scores[g]![k]! += dot(profile, column);
  }
}

function biasIn({ bias }: LinearRecipe, files: RecipeFiles, wantsSums: boolean): Bias | undefined {
  if (!bias) return undefined;
  const { file, scale } = bias;
  const values = scale === undefined ? files.float32(file) : files.int8(file);
  const [sum, squares] = wantsSums ? files.float64(biasSumsOf(file)) : [0, 0];
  return { of: (item) => values[item]! * (scale ?? 1), sums: { sum: sum!, squares: squares! } };
}
