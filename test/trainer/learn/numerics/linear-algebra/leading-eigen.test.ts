import { afterAll, expect, test } from "vitest";
import { openGemm } from "../../../../../trainer/learn/numerics/linear-algebra/gemm.ts";
import { leadingEigen } from "../../../../../trainer/learn/numerics/linear-algebra/leading-eigen.ts";
import { symmetricEigen } from "../../../../../trainer/learn/numerics/linear-algebra/symmetric-eigen.ts";
import { fitContext } from "../../../../fixtures/fit-context.ts";
import { positiveDefinite } from "../../../../fixtures/positive-definite.ts";

const gemm = openGemm(1);
afterAll(() => gemm.close());

test.each([
  [1, 1],
  [12, 12],
  [120, 6],
])("a matrix of %i has the leading %i eigenvectors of its whole decomposition", async (size, count) => {
  const a = { rows: size, columns: size, values: positiveDefinite(size) };
  const { random } = fitContext(5);
  const apply = (vectors: Parameters<typeof gemm.multiply>[0]["b"]) => gemm.multiply({ a, b: vectors });
  const { values, vectors } = await leadingEigen(apply, { size, count, random, gemm });
  const exact = symmetricEigen(a.values, size);
  for (let i = 0; i < count; i++) {
    expect(values[i]! / exact.values[i]!).toBeCloseTo(1, 2);
    let length = 0;
    for (let row = 0; row < size; row++) length += vectors.values[row * count + i]! ** 2;
    expect(length).toBeCloseTo(1, 4);
  }
});

test("a matrix of rank 1 has one eigenvalue other than 0, and finite eigenvectors", async () => {
  const a = { rows: 6, columns: 6, values: new Float32Array(36).fill(2) };
  const { random } = fitContext(5);
  const apply = (vectors: Parameters<typeof gemm.multiply>[0]["b"]) => gemm.multiply({ a, b: vectors });
  const { values, vectors } = await leadingEigen(apply, { size: 6, count: 3, random, gemm });
  expect(values[0]).toBeCloseTo(12, 4);
  expect(values[1]).toBeCloseTo(0, 4);
  expect(vectors.values.every(Number.isFinite)).toBe(true);
});
