import { afterAll, expect, test } from "vitest";
import {
  factor,
  setLower,
  solve,
  symmetricTiles,
} from "../../../../../trainer/learn/numerics/linear-algebra/cholesky.ts";
import { openGemm } from "../../../../../trainer/learn/numerics/linear-algebra/gemm.ts";
import { positiveDefinite } from "../../../../fixtures/positive-definite.ts";

const gemm = openGemm(1);
afterAll(() => gemm.close());

/** A X for the solution X, and B. */
async function solved(size: number, tile: number, columns: number) {
  const a = positiveDefinite(size);
  const tiles = symmetricTiles(size, tile);
  for (let row = 0; row < size; row++) setLower(tiles, row, a.subarray(row * size, (row + 1) * size));
  const right = Float32Array.from({ length: size * columns }, (_, i) => Math.sin(i + 1));
  const factored = await factor(tiles, gemm);
  const { values } = await solve(factored, { rows: size, columns, values: right.slice() }, gemm);
  const product = new Float64Array(size * columns);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < columns; j++) {
      for (let k = 0; k < size; k++) product[i * columns + j]! += a[i * size + k]! * values[k * columns + j]!;
    }
  }
  return { product, right };
}

test.each([
  [1, 4, 1],
  [2, 4, 3],
  [4, 4, 2],
  [5, 4, 2],
  [70, 128, 3],
  [200, 64, 5],
  [301, 150, 7],
])("a system of %i unknowns in tiles of %i with %i right sides is solved", async (size, tile, columns) => {
  const { product, right } = await solved(size, tile, columns);
  for (const [i, value] of product.entries()) expect(Math.abs(value - right[i]!)).toBeLessThan(1e-3);
});

test("a matrix that is not positive definite is refused", async () => {
  const tiles = symmetricTiles(2);
  setLower(tiles, 0, Float32Array.of(1, 2));
  setLower(tiles, 1, Float32Array.of(2, 1));
  await expect(factor(tiles, gemm)).rejects.toThrow("not positive definite: pivot 1 is -3");
});

test("solving reports the fraction after every tile, and ends if the report throws", async () => {
  const system = async () => {
    const a = positiveDefinite(10);
    const tiles = symmetricTiles(10, 4);
    for (let row = 0; row < 10; row++) setLower(tiles, row, a.subarray(row * 10, (row + 1) * 10));
    return await factor(tiles, gemm);
  };
  const right = () => ({ rows: 10, columns: 1, values: new Float32Array(10).fill(1) });
  const fractions: number[] = [];
  await solve(await system(), right(), gemm, async (fraction) => void fractions.push(fraction));
  expect(fractions).toHaveLength(2 * 3);
  expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  expect(fractions.at(-1)).toBe(1);
  const enough = async () => {
    throw new Error("enough");
  };
  await expect(solve(await system(), right(), gemm, enough)).rejects.toThrow("enough");
});
