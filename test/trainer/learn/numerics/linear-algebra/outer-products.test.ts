import { afterAll, expect, test } from "vitest";
import { openOuterProducts } from "../../../../../trainer/learn/numerics/linear-algebra/outer-products.ts";
import { fitContext } from "../../../../fixtures/fit-context.ts";

const outerProducts = await openOuterProducts();
afterAll(() => outerProducts.close());

test.each([
  { columns: 1, count: 3, length: 1 },
  { columns: 5, count: 40, length: 7 },
  { columns: 32, count: 2, length: 300 },
])("$count lists of $length rows of $columns numbers have the right sums", async ({ columns, count, length }) => {
  const { random } = fitContext(columns);
  const rows = 50;
  const values = Float32Array.from({ length: rows * columns }, () => random() - 0.5);
  const listed = Int32Array.from({ length: count * length }, () => Math.floor(rows * random()));
  const { products, vectors } = await outerProducts.sums({ rows, columns, values }, { count, length, rows: listed });
  expect([products.length, vectors.length]).toEqual([count * columns ** 2, count * columns]);
  for (let list = 0; list < count; list++) {
    const own = [...listed.subarray(list * length, (list + 1) * length)];
    for (let i = 0; i < columns; i++) {
      const sum = own.reduce((total, row) => total + values[row * columns + i]!, 0);
      expect(vectors[list * columns + i]).toBeCloseTo(sum, 4);
      for (let j = 0; j < columns; j++) {
        const product = own.reduce((total, row) => total + values[row * columns + i]! * values[row * columns + j]!, 0);
        expect(products[(list * columns + i) * columns + j]).toBeCloseTo(product, 4);
      }
    }
  }
});
