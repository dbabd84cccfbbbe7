import { FormatError } from "../assert.ts";
import type { DenseRecipe } from "../score-recipe.ts";

/** The bytes of a weight file or of an array of the recipe; undefined if there is none of this name. */
export type BytesOf = (name: string) => Uint8Array | undefined;

/** Named arrays. Throws FormatError if there is none of this name. */
export type RecipeFiles = {
  readonly float32: (name: string) => Float32Array;
  readonly float64: (name: string) => Float64Array;
  readonly int32: (name: string) => Int32Array;
  readonly uint16: (name: string) => Uint16Array;
  readonly int8: (name: string) => Int8Array;
  readonly uint8: (name: string) => Uint8Array;
};

export function recipeFiles(bytesOf: BytesOf): RecipeFiles {
  const bytes = (name: string, unit: number): [ArrayBuffer, number, number] => {
    const found = bytesOf(name);
    if (found === undefined) throw new FormatError(`score recipe: there is no file or array ${JSON.stringify(name)}`);
    const aligned = found.byteOffset % unit === 0 ? found : found.slice();
    return [aligned.buffer as ArrayBuffer, aligned.byteOffset, Math.floor(aligned.byteLength / unit)];
  };
  return {
    float32: (name) => new Float32Array(...bytes(name, 4)),
    float64: (name) => new Float64Array(...bytes(name, 8)),
    int32: (name) => new Int32Array(...bytes(name, 4)),
    uint16: (name) => new Uint16Array(...bytes(name, 2)),
    int8: (name) => new Int8Array(...bytes(name, 1)),
    uint8: (name) => new Uint8Array(...bytes(name, 1)),
  };
}

/** A reader of a stored matrix: (row, column) → value. */
export function denseReader({ file, columns, scales }: DenseRecipe, files: RecipeFiles) {
  if (scales === undefined) {
    const values = files.float32(file);
    return (row: number, column: number): number => values[row * columns + column]!;
  }
  const [codes, scaleOf] = [files.int8(file), files.float32(scales)];
  return (row: number, column: number): number => {
    const code = codes[row * columns + column]!;
    return code * Math.abs(code) * scaleOf[row]!;
  };
}
