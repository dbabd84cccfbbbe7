import { expect, test } from "vitest";
import {
  addLower,
  factorLower,
  lowerTriangle,
  setRidged,
  solveLower,
} from "../../../../../trainer/learn/numerics/linear-algebra/lower-triangle.ts";
import { positiveDefinite } from "../../../../fixtures/positive-definite.ts";

const SIZES = [1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 64];

test.each(SIZES)("A x = b of %i unknowns is solved to double precision", (size) => {
  const a = positiveDefinite(size);
  const triangle = lowerTriangle(size);
  for (let i = 0; i < size; i++)
    for (let j = 0; j <= i; j++) triangle.values[i * triangle.stride + j] = a[i * size + j]!;
  const b = Float64Array.from({ length: size }, (_, i) => Math.sin(i + 1));
  const x = b.slice();
  factorLower(triangle);
  solveLower(triangle, x);
  for (let i = 0; i < size; i++) {
    let image = 0;
    for (let j = 0; j < size; j++) image += a[i * size + j]! * x[j]!;
    expect(Math.abs(image - b[i]!)).toBeLessThan(1e-12 * size);
  }
});

test("a triangle can be used for one system after another", () => {
  const triangle = lowerTriangle(3);
  for (const scale of [1, 4]) {
    for (let i = 0; i < 3; i++)
      for (let j = 0; j <= i; j++) triangle.values[i * triangle.stride + j] = i === j ? scale : 0;
    factorLower(triangle);
    const x = Float64Array.of(1, 2, 3);
    solveLower(triangle, x);
    expect([...x]).toEqual([1 / scale, 2 / scale, 3 / scale]);
  }
});

test("a matrix that is not positive definite is refused", () => {
  const triangle = lowerTriangle(2);
  triangle.values.set([1, 0, 2, 1]);
  expect(() => factorLower(triangle)).toThrow("not positive definite");
});

test.each(SIZES)("setting with a ridge and adding give the right entries for size %i", (size) => {
  const [a, b] = [positiveDefinite(size), positiveDefinite(size).map((value) => 3 * value)];
  const triangle = lowerTriangle(size);
  triangle.values.subarray(0, size * triangle.stride).fill(9);
  setRidged(triangle, a, { factor: 0.5, ridge: 2 });
  addLower(triangle, b);
  for (let i = 0; i < size; i++)
    for (let j = 0; j <= i; j++)
      expect(triangle.values[i * triangle.stride + j]).toBe(
        0.5 * a[i * size + j]! + (i === j ? 2 : 0) + b[i * size + j]!,
      );
});
