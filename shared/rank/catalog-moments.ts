/** Standard deviations over the catalog without all scores: by sums over the items that were computed once. */
import type { RecipeFiles } from "./recipe-files.ts";

/** The name of an array beside a matrix of items: Σ over the items of its columns. float64 [width] */
export const sumsOf = (matrix: string): string => `sums of ${matrix}`;
/** Σ over the items of the products of two numbers of a column. float64 [width, width] */
export const productsOf = (matrix: string): string => `products of ${matrix}`;

/** The name of an array beside a bias: Σ bias and Σ bias² over the items. float64 [2] */
export const biasSumsOf = (bias: string): string => `sums of ${bias}`;

/** Σ score and Σ score² over the catalog. */
export type ScoreSums = { readonly sum: number; readonly squares: number };

/** The sums for scores that are the products of a vector with the columns of a matrix. */
export function sumsOfProducts(vector: ArrayLike<number>, matrix: string, files: RecipeFiles): ScoreSums {
  const [sums, products] = [files.float64(sumsOf(matrix)), files.float64(productsOf(matrix))];
  const width = vector.length;
  let [sum, squares] = [0, 0];
  for (let i = 0; i < width; i++) {
    sum += vector[i]! * sums[i]!;
    let inner = 0;
    for (let j = 0; j < width; j++) inner += vector[j]! * products[i * width + j]!;
    squares += vector[i]! * inner;
  }
  return { sum, squares };
}

/** As trainer/learn/scoring/blend.ts has them: deviations below this fraction of the largest score are rounding errors. */
const SPREAD_FRACTION_MIN = 1e-5;
const SPREAD_MIN = 1e-20;

/**
 * The standard deviation by which a blend divides the scores of a part. Undefined if it is so small beside the scores that the largest of
 * them decides, which is not known here.
 */
export function spreadFrom({ sum, squares }: ScoreSums, itemCount: number): number | undefined {
  if (squares === 0) return SPREAD_MIN;
  const mean = sum / itemCount;
  const deviation = Math.sqrt(Math.max(0, squares / itemCount - mean * mean));
  const largestMost = Math.abs(mean) + deviation * Math.sqrt(itemCount);
  const roundingMost = 1e-7 * Math.abs(mean); // of the difference of squares above, many times over
  return deviation > 2 * SPREAD_FRACTION_MIN * largestMost + roundingMost ? deviation : undefined;
}
