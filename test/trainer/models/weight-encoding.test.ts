import { expect, test } from "vitest";
import { type EncodedDense, type EncodedSparse, encodeWithin } from "../../../trainer/models/weight-encoding.ts";
import { denseWeights, factorWeights, strongestWeights } from "../../../trainer/models/weight-matrix.ts";

const dense = denseWeights(
  3,
  4,
  Float32Array.from({ length: 12 }, (_, i) => (i - 5.5) / 4),
);
const wide = strongestWeights(
  denseWeights(
    4,
    100,
    Float32Array.from({ length: 400 }, (_, i) => Math.cos(i)),
  ),
  2,
);

test("with room enough it is exact, in the smaller of the two forms", () => {
  const { matrices, truncation } = encodeWithin([dense, wide], 1e6);
  expect(matrices.map(({ kind }) => kind)).toEqual(["dense", "sparse"]);
  expect(truncation).toBe("");
  expect((matrices[0] as EncodedDense).values).toEqual(dense.values);
  expect((matrices[1] as EncodedSparse).values.length).toBe(9);
});

test("with less room weights become codes c·|c| of 8 bits, right to a 60th of the row's largest weight", () => {
  const { matrices, truncation } = encodeWithin([dense], 12 + 12);
  const matrix = matrices[0] as EncodedDense;
  expect([matrix.kind, truncation]).toEqual(["dense", "8-bit weights"]);
  for (let i = 0; i < 12; i++) {
    const code = matrix.values[i]!;
    const scale = matrix.rowScales![Math.floor(i / 4)]!;
    expect(Math.abs(code * Math.abs(code) * scale - dense.values[i]!)).toBeLessThan((127 ** 2 * scale) / 60);
  }
});

test("with too little room for that the strongest of each row stay, as many as fit, and it says so", () => {
  const large = denseWeights(
    50,
    50,
    Float32Array.from({ length: 2500 }, (_, i) => Math.sin(i)),
  );
  const { matrices, truncation } = encodeWithin([large], 2000);
  // 51 starts and 50 scales of 4 bytes, 3 bytes for each of 50 × 10 weights and for the one outside: 1907.
  expect(truncation).toBe("top 10 weights of each row; 8-bit weights");
  expect((matrices[0] as EncodedSparse).values.length).toBe(501);
});

test("factors lose their last vectors", () => {
  const factors = factorWeights(20, 8, { left: new Float32Array(160).fill(1), right: new Float32Array(160).fill(1) });
  const { matrices, truncation } = encodeWithin([factors], 300);
  // 4 bytes of scale for each of 20 + r rows and 40·r codes: r = 5.
  expect(truncation).toBe("rank 5 of 8; 8-bit weights");
  expect(matrices[0]!.kind).toBe("factors");
});

test("nothing to encode", () => expect(encodeWithin([], 0)).toEqual({ matrices: [], truncation: "" }));
