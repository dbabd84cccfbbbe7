import { expect, test } from "vitest";
import { encodeWithin } from "../../../trainer/models/weight-encoding.ts";
import { denseWeights, strongestWeights } from "../../../trainer/models/weight-matrix.ts";

const dense = denseWeights(
  3,
  4,
  Float32Array.from({ length: 12 }, (_, i) => (i - 5.5) / 4),
);
const sparse = strongestWeights(dense, 1);

test("with room enough it is exact, in the smaller of the two forms", () => {
  const { matrices, truncation } = encodeWithin([dense, sparse], 1e6);
  expect(matrices.map(({ kind, valueType }) => `${kind} ${valueType}`)).toEqual(["dense float32", "sparse float32"]);
  expect(truncation).toBe("");
  expect(matrices[0]!.values).toEqual(dense.values);
});

test("with less room weights become codes c·|c| of 8 bits, right to a 60th of the row's largest weight", () => {
  const { matrices, truncation } = encodeWithin([dense], 12 + 12);
  const [matrix] = matrices;
  expect([matrix!.kind, truncation]).toEqual(["dense", "8-bit weights"]);
  for (let i = 0; i < 12; i++) {
    const code = matrix!.values[i]!;
    const row = Math.floor(i / 4);
    const value = code * Math.abs(code) * matrix!.rowScales![row]!;
    expect(Math.abs(value - dense.values[i]!)).toBeLessThan((127 ** 2 * matrix!.rowScales![row]!) / 60);
  }
});

test("with too little room for that the strongest of each row stay, as many as fit, and it says so", () => {
  const large = denseWeights(
    50,
    50,
    Float32Array.from({ length: 2500 }, (_, i) => Math.sin(i)),
  );
  const { matrices, truncation } = encodeWithin([large], 2000);
  // 51 starts and 50 scales of 4 bytes; 3 bytes for each of 50 × 10 weights.
  expect(truncation).toBe("top 10 weights of each row; 8-bit weights");
  expect(matrices[0]!.values.length).toBe(501);
});
