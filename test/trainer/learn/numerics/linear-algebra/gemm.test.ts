import { afterAll, expect, test } from "vitest";
import { openGemm } from "../../../../../trainer/learn/numerics/linear-algebra/gemm.ts";
import type { Matrix } from "../../../../../trainer/learn/numerics/linear-algebra/matrix.ts";
import { fitContext } from "../../../../fixtures/fit-context.ts";

const gemm = openGemm(1);
afterAll(() => gemm.close());
const { random } = fitContext(3);
const matrix = (rows: number, columns: number): Matrix => ({
  rows,
  columns,
  values: Float32Array.from({ length: rows * columns }, () => random() - 0.5),
});
const at = ({ columns, values }: Matrix, row: number, column: number) => values[row * columns + column]!;
const flipped = (m: Matrix): Matrix => ({
  rows: m.columns,
  columns: m.rows,
  values: Float32Array.from({ length: m.values.length }, (_, i) => at(m, i % m.rows, Math.floor(i / m.rows))),
});

test.each([
  [false, false, 1, false],
  [true, false, -1, true],
  [false, true, 1, true],
  [true, true, -1, false],
] as const)(
  "the product is right with transposed a %s, transposed b %s, factor %s, added matrix %s",
  async (ta, tb, alpha, add) => {
    const [a, b, plus] = [matrix(5, 7), matrix(7, 3), matrix(5, 3)];
    const product = await gemm.multiply({
      a: ta ? flipped(a) : a,
      b: tb ? flipped(b) : b,
      transposeA: ta,
      transposeB: tb,
      alpha,
      ...(add ? { plus } : {}),
    });
    expect([product.rows, product.columns]).toEqual([5, 3]);
    for (let i = 0; i < 5; i++) {
      for (let j = 0; j < 3; j++) {
        let sum = add ? at(plus, i, j) : 0;
        for (let k = 0; k < 7; k++) sum += alpha * at(a, i, k) * at(b, k, j);
        expect(at(product, i, j)).toBeCloseTo(sum, 5);
      }
    }
  },
);

test("the result goes into a given array, which may be part of a larger one", async () => {
  const buffer = new Float32Array(6).fill(9);
  const into = buffer.subarray(1, 5);
  const identity = { rows: 2, columns: 2, values: Float32Array.of(1, 0, 0, 1) };
  const b = { rows: 2, columns: 2, values: Float32Array.of(1, 2, 3, 4) };
  await gemm.multiply({ a: identity, b, into });
  expect([...buffer]).toEqual([9, 1, 2, 3, 4, 9]);
});
