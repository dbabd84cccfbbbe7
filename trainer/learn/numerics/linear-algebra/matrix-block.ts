import type { Matrix } from "./gemm.ts";

type Span = readonly [from: number, to: number];

/** A copy of the given rows and columns. */
export function block({ columns, values }: Matrix, rowSpan: Span, columnSpan: Span): Matrix {
  const [rows, width] = [rowSpan[1] - rowSpan[0], columnSpan[1] - columnSpan[0]];
  const copy = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    const from = (rowSpan[0] + row) * columns + columnSpan[0];
    copy.set(values.subarray(from, from + width), row * width);
  }
  return { rows, columns: width, values: copy };
}

/** Writes a block into a matrix, its first entry at (row, column). */
export function place(from: Matrix, into: Matrix, row: number, column: number): void {
  for (let r = 0; r < from.rows; r++) {
    const values = from.values.subarray(r * from.columns, (r + 1) * from.columns);
    into.values.set(values, (row + r) * into.columns + column);
  }
}
