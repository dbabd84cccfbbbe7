import fc from "fast-check";
import { expect, test } from "vitest";
import { addTo, rowSum } from "../../../../trainer/learn/weights/row-sum.ts";
import {
  largestColumns,
  rowRange,
  sparseBuilder,
  transposed,
} from "../../../../trainer/learn/weights/sparse-builder.ts";
import { addRow, type SparseWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

const dense = [
  [0, 1, 2],
  [0, 0, 0],
  [3, 0, 4],
  [5, 6, 7],
];

function built(): SparseWeights {
  const builder = sparseBuilder(4, 3);
  for (const row of dense) {
    for (const [column, value] of row.entries()) builder.add(column, value);
    builder.endRow();
  }
  return builder.build();
}
const rowsOf = (matrix: SparseWeights) =>
  Array.from({ length: matrix.rowCount }, (_, row) => {
    const into = new Float64Array(matrix.columnCount);
    addRow(matrix, row, 1, into);
    return [...into];
  });

test("a matrix has the rows that were added, without zeros", () => {
  expect(rowsOf(built())).toEqual(dense);
  expect(built().values.length).toBe(7);
});

test.each([5000, 2 ** 18, 600_000])("the builder takes %i entries, over rows and blocks", (count) => {
  const builder = sparseBuilder(2, count);
  for (let column = 0; column < count; column++) {
    builder.add(column, column % 1000 || 0.5);
    if (column === count >> 1) builder.endRow();
  }
  const { start, columns, values } = builder.build();
  expect([...start]).toEqual([0, (count >> 1) + 1, count]);
  expect(columns.length).toBe(count);
  expect(columns.every((column, i) => column === i)).toBe(true);
  expect(values.every((value, i) => value === (i % 1000 || 0.5))).toBe(true);
});

test("transposing twice gives the same matrix", () => {
  expect(rowsOf(transposed(built()))).toEqual([0, 1, 2].map((column) => dense.map((row) => row[column])));
  expect(rowsOf(transposed(transposed(built())))).toEqual(dense);
});

test("a range of rows is a matrix", () => expect(rowsOf(rowRange(built(), 1, 3))).toEqual(dense.slice(1, 3)));

test("the largest columns ascend, and lower columns win ties", () => {
  const row = rowSum(6);
  for (const [column, amount] of [
    [5, 1],
    [3, 2],
    [1, 1],
    [0, 1],
  ] as const)
    addTo(row, column, amount);
  const value = (column: number) => row.values[column]!;
  expect([...largestColumns(row, 3, value)]).toEqual([0, 1, 3]);
  expect([...largestColumns(row, 9, value)]).toEqual([0, 1, 3, 5]);
});

test("the largest columns are those that a sort gives", () => {
  const sizes = fc.uniqueArray(fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 9 })), {
    selector: ([column]) => column,
  });
  fc.assert(
    fc.property(sizes, fc.nat(40), (entries, keep) => {
      const row = rowSum(61);
      for (const [column, amount] of entries) addTo(row, column, amount);
      const bySorting = entries.toSorted(([a, x], [b, y]) => y - x || a - b).slice(0, keep);
      const expected = bySorting.map(([column]) => column).sort((a, b) => a - b);
      expect([...largestColumns(row, keep, (column) => row.values[column]!)]).toEqual(expected);
    }),
  );
});
