import { expect, test } from "vitest";
import { symmetricEigen } from "../../../../../trainer/learn/numerics/linear-algebra/symmetric-eigen.ts";
import { positiveDefinite } from "../../../../fixtures/positive-definite.ts";

test("[[2, 1], [1, 2]] has eigenvalue 3 along (1, 1) and 1 along (1, −1)", () => {
  const { values, vectors } = symmetricEigen(Float64Array.of(2, 1, 1, 2), 2);
  expect(values[0]).toBeCloseTo(3, 12);
  expect(values[1]).toBeCloseTo(1, 12);
  expect(vectors[0]! - vectors[1]!).toBeCloseTo(0, 12);
});

test.each([1, 5, 40])("A v = λ v for each of %i vectors, largest λ first", (size) => {
  const a = positiveDefinite(size);
  const { values, vectors } = symmetricEigen(a, size);
  for (let i = 0; i < size; i++) {
    if (i > 0) expect(values[i]).toBeLessThanOrEqual(values[i - 1]!);
    for (let row = 0; row < size; row++) {
      let image = 0;
      for (let k = 0; k < size; k++) image += a[row * size + k]! * vectors[i * size + k]!;
      expect(image).toBeCloseTo(values[i]! * vectors[i * size + row]!, 6);
    }
  }
});
