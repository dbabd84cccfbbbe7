import { afterAll, expect, test } from "vitest";
import { openGemm } from "../../../../../trainer/learn/numerics/linear-algebra/gemm.ts";
import { invertInPlace } from "../../../../../trainer/learn/numerics/linear-algebra/inverse.ts";
import { seededRandom } from "../../../../../trainer/learn/numerics/seeded-random.ts";
import { positiveDefinite } from "../../../../fixtures/positive-definite.ts";

const gemm = openGemm(1);
afterAll(() => gemm.close());

test.each([1, 2, 3, 96, 97, 300])("a matrix of %i times its inverse is the identity", async (size) => {
  const a = positiveDefinite(size);
  const { values } = await invertInPlace({ rows: size, columns: size, values: a.slice() }, gemm);
  let worst = 0;
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      let sum = i === j ? -1 : 0;
      for (let k = 0; k < size; k++) sum += a[i * size + k]! * values[k * size + j]!;
      worst = Math.max(worst, Math.abs(sum)); // Math.max keeps NaN
    }
  }
  expect(worst).toBeLessThan(1e-4);
});

test("co-occurrences with a few very popular items are inverted to single precision", async () => {
  const [size, users] = [400, 600];
  const random = seededRandom(5);
  const a = new Float32Array(size * size);
  for (let user = 0; user < users; user++) {
    const chosen = Array.from({ length: size }, (_, item) => item).filter((item) => random() < 20 / (20 + item));
    for (const i of chosen) for (const j of chosen) a[i * size + j]! += 1;
  }
  for (let i = 0; i < size; i++) a[i * size + i]! += 5;
  const { values } = await invertInPlace({ rows: size, columns: size, values: a.slice() }, gemm);
  let worst = 0;
  for (let i = 0; i < size; i += 7) {
    for (let j = 0; j < size; j += 3) {
      let sum = 0;
      for (let k = 0; k < size; k++) sum += a[i * size + k]! * values[k * size + j]!;
      worst = Math.max(worst, Math.abs(sum - (i === j ? 1 : 0)));
    }
  }
  expect(worst).toBeLessThan(1e-4);
});

test("a matrix that is not positive definite is refused", async () => {
  const a = { rows: 2, columns: 2, values: Float32Array.of(1, 2, 2, 1) };
  await expect(invertInPlace(a, gemm)).rejects.toThrow("not positive definite");
});
