import { expect, test } from "vitest";
import type { VectorColumn } from "../../../../shared/attributes.ts";
import { itemFeatures } from "../../../../trainer/learn/attributes/item-features.ts";
import { addVectors, vectorFeatureCount, withVector } from "../../../../trainer/learn/attributes/vector-features.ts";
import { openGemm } from "../../../../trainer/learn/numerics/linear-algebra/gemm.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import type { AttributeColumn } from "../../../../trainer/read/dataset/dataset.ts";

const WIDTH = 100;
const ITEMS = 40;

/** Vectors of 100 numbers that lie along two directions, far from zero; that of item 7 is missing. */
function plane(): { column: VectorColumn; places: readonly (readonly [number, number])[] } {
  const random = seededRandom(3);
  const direction = () => Array.from({ length: WIDTH }, () => random() - 0.5);
  const [first, second] = [direction(), direction()];
  const places = Array.from({ length: ITEMS }, () => [random() - 0.5, random() - 0.5] as const);
  const values = Float32Array.from({ length: ITEMS * WIDTH }, (_, at) => {
    const [item, i] = [Math.floor(at / WIDTH), at % WIDTH];
    return item === 7 ? Number.NaN : 5 + places[item]![0] * first[i]! + places[item]![1] * second[i]!;
  });
  return { column: { name: "v", type: "Vector", width: WIDTH, values }, places };
}

const colours: AttributeColumn = {
  name: "colour",
  type: "Category",
  dictionary: ["red", "blue"],
  start: Uint32Array.from({ length: ITEMS + 1 }, (_, i) => Math.min(i, ITEMS - 1)),
  codes: Uint32Array.from({ length: ITEMS - 1 }, (_, item) => item % 2),
};

async function rowsOf(columns: readonly AttributeColumn[]) {
  const gemm = openGemm(1);
  try {
    const {
      start,
      columns: features,
      values,
      columnCount,
    } = await addVectors(itemFeatures(columns, ITEMS), columns, gemm);
    const row = (item: number) => {
      const dense = new Float64Array(columnCount);
      for (let at = start[item]!; at < start[item + 1]!; at++) dense[features[at]!] = values[at]!;
      return dense;
    };
    return { columnCount, row };
  } finally {
    await gemm.close();
  }
}

const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

test("vectors are compared without their mean, along their leading directions", async () => {
  const { column } = plane();
  const { columnCount, row } = await rowsOf([column]);
  expect([columnCount, vectorFeatureCount([column])]).toEqual([64, 64]);
  const present = [...withVector([column], ITEMS).keys()].filter((item) => item !== 7);
  const mean = Float64Array.from({ length: WIDTH }, (_, i) =>
    present.reduce((sum, item) => sum + column.values[item * WIDTH + i]! / present.length, 0),
  );
  const centred = (item: number) => mean.map((value, i) => column.values[item * WIDTH + i]! - value);
  const cosine = (a: Float64Array, b: Float64Array) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
  for (const [a, b] of [
    [0, 1],
    [2, 30],
    [5, 39],
  ] as const)
    expect(dot(row(a), row(b))).toBeCloseTo(cosine(centred(a), centred(b)), 3);
  expect(withVector([column], ITEMS)[7]).toBe(0);
  expect(dot(row(7), row(7))).toBe(0);
});

test("beside other features, rows have length 1 and vectors half the length of the others", async () => {
  const { column } = plane();
  const { columnCount, row } = await rowsOf([colours, column]);
  expect(columnCount).toBe(2 + 64);
  const partsOf = (item: number) => [row(item).subarray(0, 2), row(item).subarray(2)].map((part) => dot(part, part));
  expect(partsOf(0)).toEqual([expect.closeTo(0.8, 4), expect.closeTo(0.2, 4)]);
  expect(partsOf(7)).toEqual([expect.closeTo(1, 4), 0]);
  expect(partsOf(ITEMS - 1)).toEqual([0, expect.closeTo(1, 4)]);
});
