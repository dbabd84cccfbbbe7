import { expect, test } from "vitest";
import type { EncodedDense } from "../../../../trainer/learn/weights/dense-encoding.ts";
import { factorBytes } from "../../../../trainer/learn/weights/factor-encoding.ts";
import { hopBytes } from "../../../../trainer/learn/weights/hop-weights.ts";
import { encodeWithin, leastBytes, type WeightPart } from "../../../../trainer/learn/weights/weight-encoding.ts";
import {
  denseWeights,
  factorWeights,
  strongestWeights,
  type WeightMatrix,
} from "../../../../trainer/learn/weights/weight-matrix.ts";

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
const part = (matrix: WeightMatrix, rowFactors?: Float32Array): WeightPart => ({ matrix, rowFactors });
const kinds = (parts: readonly WeightPart[], bytesMax: number) =>
  encodeWithin(parts, undefined, bytesMax).matrices.map(({ kind }) => kind);

test("within a large budget weights stay exact, and sparse matrices are stacked", () => {
  const { matrices, stacked, truncation } = encodeWithin([part(dense), part(wide), part(wide)], undefined, 1e6);
  expect(truncation).toBe("");
  expect((matrices[0] as EncodedDense).values).toEqual(dense.values);
  expect(matrices.slice(1)).toEqual([
    { kind: "stacked", firstRow: 0 },
    { kind: "stacked", firstRow: 4 },
  ]);
  const { entries, rowCount } = stacked!;
  expect([rowCount, entries.kind]).toEqual([8, "exact"]);
  expect(entries.kind === "exact" && [...entries.values]).toEqual([
    ...wide.values,
    ...wide.values,
    ...new Array(32).fill(0),
  ]);
});

test("within less, weights become 8-bit codes c·|c|, right to a 60th of the row's largest weight", () => {
  const { matrices, truncation } = encodeWithin([part(dense)], undefined, 12 + 12);
  const matrix = matrices[0] as EncodedDense;
  expect([matrix.kind, truncation]).toEqual(["dense", "8-bit weights"]);
  for (let i = 0; i < 12; i++) {
    const code = matrix.values[i]!;
    const scale = matrix.rowScales![Math.floor(i / 4)]!;
    expect(Math.abs(code * Math.abs(code) * scale - dense.values[i]!)).toBeLessThan((127 ** 2 * scale) / 60);
  }
});

test("the smallest encodings are codes, a factorisation of rank 1, and sparse rows without entries", () => {
  expect(leastBytes([part(dense)], undefined)).toBe(12 + 4 * 3);
  const factors = factorWeights(9, 4, { left: new Float32Array(36), right: new Float32Array(36) });
  expect(leastBytes([part(factors)], new Float32Array(9))).toBe(9 + 9 + 4 * (9 + 9) + 9);
  const many = strongestWeights(denseWeights(64, 64, new Float32Array(64 ** 2).fill(1)), 20);
  expect(leastBytes([part(many)], undefined)).toBe(3 * 32 + 2 * (64 + 1) + 4 * 2);
  expect(leastBytes([], new Float32Array(9))).toBe(4 * 9);
});

const large = denseWeights(
  50,
  50,
  Float32Array.from({ length: 2500 }, (_, i) => Math.sin(i + 1)),
);

test("when not all codes fit, the weights that matter most are kept, and the truncation says how many", () => {
  const { stacked, truncation } = encodeWithin([part(large)], undefined, 2000);
  // 51 offsets of 2 bytes and one beginning of 4, 3 bytes for each of 599 weights and for 32 outside: 1999.
  expect(truncation).toBe("599 of 2,500 weights, which matter most; 8-bit weights");
  expect(stacked!.blockStart[0]! + stacked!.offset[50]!).toBe(599);
});

test("a row with a larger factor keeps more weights", () => {
  const rowFactors = new Float32Array(50).fill(1);
  rowFactors[7] = 1e6;
  const { offset } = encodeWithin([part(large, rowFactors)], undefined, 2000).stacked!;
  const lengths = Array.from({ length: 50 }, (_, row) => offset[row + 1]! - offset[row]!);
  expect(lengths[7]).toBe(50);
  expect(Math.max(...lengths.toSpliced(7, 1))).toBeLessThan(20);
});

test("the bias is exact while all weights are kept or there are none, and 8-bit otherwise", () => {
  const bias = Float32Array.from({ length: 50 }, (_, i) => i / 49 - 0.25);
  const whole = 50 * 50 * 4 + 200;
  expect(encodeWithin([part(large)], bias, whole).bias).toEqual({ values: bias, scale: undefined });
  const { values, scale } = encodeWithin([part(large)], bias, 2000).bias!;
  expect(values).toBeInstanceOf(Int8Array);
  for (const [i, code] of values.entries())
    expect(Math.abs(code * scale! - bias[i]!)).toBeLessThanOrEqual(scale! / 1.9);
  expect(encodeWithin([], bias, 10)).toMatchObject({ bias: { values: bias, scale: undefined }, truncation: "" });
});

test("above 65,536 columns, codes have fewer levels and the same three bytes", () => {
  const rows = strongestWeights(
    denseWeights(
      2,
      200_000,
      Float32Array.from({ length: 4e5 }, (_, i) => Math.sin(i)),
    ),
    900,
  );
  const fixed = 2 * 3 + 4;
  const truncationIn = (bytes: number) => encodeWithin([part(rows)], undefined, bytes).truncation;
  expect(truncationIn(fixed + 1832 * 8)).toBe("");
  expect(truncationIn(fixed + 1832 * 8 - 1)).toBe("weights of 64 sizes");
  expect(truncationIn(fixed + 1832 * 3)).toBe("weights of 64 sizes");
  expect(truncationIn(fixed + 1832 * 3 - 1)).toBe("1,799 of 1,800 weights, which matter most; weights of 64 sizes");
});

test("a factorisation loses its last vectors", () => {
  const factors = factorWeights(20, 8, { left: new Float32Array(160).fill(1), right: new Float32Array(160).fill(1) });
  const { matrices, truncation } = encodeWithin([part(factors)], undefined, 300);
  // 4 bytes of scale for each of 20 + 20 items and 40·r codes: r = 3.
  expect(truncation).toBe("rank 3 of 8; 8-bit weights");
  expect(matrices[0]!.kind).toBe("factors");
});

test("a dense matrix stays dense while its codes fit", () => {
  expect(kinds([part(large)], 2700)).toEqual(["dense"]);
  expect(kinds([part(large)], 2699)).toEqual(["stacked"]);
});

test("nothing to encode", () =>
  expect(encodeWithin([], undefined, 0)).toEqual({
    matrices: [],
    stacked: undefined,
    bias: undefined,
    truncation: "",
  }));

test("beside two hops, a factorisation loses up to five sixths of its vectors before users are left out", () => {
  const users = strongestWeights(denseWeights(60, 60, new Float32Array(3600).fill(1)), 20);
  const ones = new Float32Array(60).fill(1);
  const hops: WeightMatrix = {
    kind: "hops",
    rowCount: 60,
    columnCount: 60,
    users,
    rowFactors: ones,
    userFactors: ones,
    columnFactors: ones,
  };
  const factors = factorWeights(60, 12, { left: new Float32Array(720).fill(1), right: new Float32Array(720).fill(1) });
  const truncationIn = (bytes: number) => encodeWithin([part(hops), part(factors)], undefined, bytes).truncation;
  // Each vector has 60 + 60 codes.
  const whole = hopBytes(hops, 1) + factorBytes(factors, 12, false);
  expect(truncationIn(whole)).toBe("8-bit weights");
  expect(truncationIn(whole - 1)).toBe("rank 11 of 12; 8-bit weights");
  expect(truncationIn(whole - 10 * 120)).toBe("rank 2 of 12; 8-bit weights");
  expect(truncationIn(whole - 10 * 120 - 1)).toMatch(/^\d+ of 60 users; rank 1 of 12; 8-bit weights$/);
});
