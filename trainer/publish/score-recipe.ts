import type { TypedArray } from "../../shared/container.ts";
import type { GoldenScores } from "../../shared/manifest.ts";
import { biasSumsOf, productsOf, sumsOf } from "../../shared/rank/catalog-moments.ts";
import { fewScores } from "../../shared/rank/few-scores.ts";
import { columnReader, rightReader } from "../../shared/rank/item-columns.ts";
import { type BytesOf, type RecipeFiles, recipeFiles } from "../../shared/rank/recipe-files.ts";
import { encodeRecipe, type ScoreRecipe, type StoredRecipe } from "../../shared/score-recipe.ts";
import type { ExportedModel } from "../learn/model.ts";
import { GOLDEN_TOLERANCE } from "./golden.ts";

/**
 * The file of a version's recipe, with the sums over the catalog that blends need. Undefined if the model has none, or if it does not
 * give the golden scores of the graph.
 */
export function scoreRecipeFile(
  { recipe, weights }: ExportedModel,
  itemCount: number,
  golden: readonly GoldenScores[],
): Uint8Array | undefined {
  if (!recipe) return undefined;
  const files = new Map(weights.map(({ path, bytes }) => [path, bytes]));
  const bytesOf: BytesOf = (name) => files.get(name);
  const whole = withSums(recipe, itemCount, bytesOf);
  return givesScores(whole, { itemCount, golden, bytesOf }) ? encodeRecipe(whole) : undefined;
}

type Checking = {
  readonly itemCount: number;
  readonly golden: readonly GoldenScores[];
  readonly bytesOf: BytesOf;
};

/** Whether it has at least some of the golden scores, and none of them differs. */
function givesScores(recipe: StoredRecipe, { itemCount, golden, bytesOf }: Checking): boolean {
  let known = 0;
  for (const { items, ages_days: agesDays, scores } of golden) {
    const histories = [{ items: items as never, agesDays }];
    const largest = Math.max(...scores.map(([, score]) => Math.abs(score)), Number.MIN_VALUE);
    for (const [item, expected] of scores) {
      const found = fewScores(recipe, { histories, items: [item as never], itemCount }, bytesOf);
      if (!found) continue;
      known++;
      if (!(Math.abs(found[0]![0]! - expected) <= GOLDEN_TOLERANCE * largest)) return false;
    }
  }
  return known > 0;
}

/** The recipe with the sums over the catalog of all parts of blends. */
function withSums({ recipe, arrays }: StoredRecipe, itemCount: number, bytesOf: BytesOf): StoredRecipe {
  const bytesIn = ({ buffer, byteOffset, byteLength }: TypedArray) => new Uint8Array(buffer, byteOffset, byteLength);
  const files = recipeFiles((name) => (arrays[name] ? bytesIn(arrays[name]) : bytesOf(name)));
  const sums = partsOfBlends(recipe).map((part) => sumsOfPart(part, itemCount, files));
  return { recipe, arrays: Object.assign({}, arrays, ...sums) };
}

function partsOfBlends(recipe: ScoreRecipe): ScoreRecipe[] {
  if (recipe.kind === "cold") return partsOfBlends(recipe.warm);
  return recipe.kind === "blend" ? recipe.parts.map(({ part }) => part) : [];
}

function sumsOfPart(part: ScoreRecipe, itemCount: number, files: RecipeFiles): Record<string, TypedArray> {
  if (part.kind === "pooled") {
    const { vectors } = part;
    return matrixSums({ name: vectors.file, width: vectors.width, itemCount, numberAt: columnReader(vectors, files) });
  }
  if (part.kind !== "linear") return {};
  const found: Record<string, TypedArray> = {};
  if (part.bias) {
    const { file, scale } = part.bias;
    const sums = Float64Array.of(0, 0);
    for (const stored of scale === undefined ? files.float32(file) : files.int8(file)) {
      const value = stored * (scale ?? 1);
      sums[0]! += value;
      sums[1]! += value * value;
    }
    found[biasSumsOf(file)] = sums;
  }
  for (const { matrix } of part.terms) {
    if (matrix.kind !== "factors") continue;
    const { left, right } = matrix;
    const numberAt = rightReader(right, files);
    Object.assign(found, matrixSums({ name: right.file, width: left.columns, itemCount, numberAt }));
  }
  return found;
}

type Columns = {
  readonly name: string;
  readonly width: number;
  readonly itemCount: number;
  readonly numberAt: (item: number, i: number) => number;
};

/** Items that are read at once. */
const BLOCK = 256;

/** Σ of the items' columns, and Σ of the products of their numbers. */
function matrixSums({ name, width, itemCount, numberAt }: Columns): Record<string, TypedArray> {
  const sums = new Float64Array(width);
  const products = new Float64Array(width * width);
  const block = new Float64Array(width * BLOCK); // a row for each number
  for (let first = 0; first < itemCount; first += BLOCK) {
    const count = Math.min(BLOCK, itemCount - first);
    for (let i = 0; i < width; i++)
      for (let k = 0; k < count; k++) {
        const value = numberAt(first + k, i);
        block[i * BLOCK + k] = value;
        sums[i]! += value;
      }
    for (let i = 0; i < width; i++)
      for (let j = 0; j <= i; j++) {
        let product = 0;
        for (let k = 0; k < count; k++) product += block[i * BLOCK + k]! * block[j * BLOCK + k]!;
        products[i * width + j]! += product;
      }
  }
  for (let i = 0; i < width; i++) for (let j = 0; j < i; j++) products[j * width + i] = products[i * width + j]!;
  return { [sumsOf(name)]: sums, [productsOf(name)]: products };
}
