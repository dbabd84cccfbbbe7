import type { RightRecipe, VectorsRecipe } from "../score-recipe.ts";
import { denseReader, type RecipeFiles } from "./recipe-files.ts";

/** The code that stands for 0 in vectors of bytes. */
const ZERO = 128;

/** A reader of item vectors: (item, i) → number i of the item's vector. */
export function columnReader(recipe: VectorsRecipe, files: RecipeFiles): (item: number, i: number) => number {
  const { width } = recipe;
  if (recipe.kind === "floats") {
    const values = files.float32(recipe.file);
    const itemCount = values.length / width;
    return (item, i) => values[i * itemCount + item]!;
  }
  const { block_items: blockItems } = recipe;
  const [codes, scales] = [files.uint8(recipe.file), files.float32(recipe.scales)];
  return (item, i) => {
    const block = Math.floor(item / blockItems);
    return (codes[(block * width + i) * blockItems + (item % blockItems)]! - ZERO) * scales[item]!;
  };
}

/** A reader of the right factor of a linear model: (item, i) → number i of the item's column. */
export function rightReader(recipe: RightRecipe, files: RecipeFiles): (item: number, i: number) => number {
  if ("kind" in recipe) return columnReader(recipe, files);
  const valueAt = denseReader(recipe, files);
  return (item, i) => valueAt(i, item);
}

/** What is left of a vector as ONNX's DynamicQuantizeLinear stores it: bytes over its range, which includes 0. */
export function asBytes(exact: Float64Array): Float64Array {
  const vector = Float32Array.from(exact);
  const least = Math.min(0, ...vector);
  const most = Math.max(0, ...vector);
  const unit = most === least ? 1 : Math.fround(Math.fround(most - least) / 255);
  const zero = clamped(rounded(Math.fround(-least / unit)));
  return Float64Array.from(vector, (value) => unit * (clamped(rounded(Math.fround(value / unit)) + zero) - zero));
}

const clamped = (code: number) => Math.min(255, Math.max(0, code));

/** To the nearest integer, and to the even one of two that are equally near. */
function rounded(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
}

export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
