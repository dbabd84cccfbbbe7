import { expect, test } from "vitest";
import {
  factorLower,
  lowerTriangle,
  outerProducts,
  solveLower,
} from "../../../trainer/linear-algebra/lower-triangle.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { positiveDefinite } from "../../fixtures/positive-definite.ts";

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

test.each(SIZES)(
  "outer products of vectors of %i numbers add up, however many there are, and so do the vectors",
  (size) => {
    const { random } = fitContext(size);
    const from = Float32Array.from({ length: 200 * size }, () => random() - 0.5);
    const add = outerProducts(size);
    for (const count of [0, 1, 2, 63, 64, 65, 150]) {
      const rows = Int32Array.from({ length: count }, () => Math.floor(200 * random()));
      const triangle = lowerTriangle(size);
      const sum = new Float64Array(size).fill(1);
      add(from, rows, triangle, sum);
      for (let i = 0; i < size; i++) {
        const total = rows.reduce((own, row) => own + from[row * size + i]!, 1);
        expect(sum[i]).toBeCloseTo(total, 10);
        for (let j = 0; j <= i; j++) {
          const expected = rows.reduce((own, row) => own + from[row * size + i]! * from[row * size + j]!, 0);
          expect(triangle.values[i * triangle.stride + j]).toBeCloseTo(expected, 10);
        }
      }
    }
  },
);

test("a triangle is used again: nothing of the system before is left", () => {
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
