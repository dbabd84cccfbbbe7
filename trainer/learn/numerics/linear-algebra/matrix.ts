/** A dense matrix, row-major. */
export type Matrix = { readonly rows: number; readonly columns: number; readonly values: Float32Array };

type Span = readonly [from: number, to: number];

/** A copy of the given rows and columns; spans exclude their end. */
export function block({ columns, values }: Matrix, rowSpan: Span, columnSpan: Span): Matrix {
  const [rows, width] = [rowSpan[1] - rowSpan[0], columnSpan[1] - columnSpan[0]];
  const copy = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    const from = (rowSpan[0] + row) * columns + columnSpan[0];
    copy.set(values.subarray(from, from + width), row * width);
  }
  return { rows, columns: width, values: copy };
}

/** Writes a block into a matrix, with its first entry at (row, column). */
export function place(from: Matrix, into: Matrix, row: number, column: number): void {
  for (let r = 0; r < from.rows; r++) {
    const values = from.values.subarray(r * from.columns, (r + 1) * from.columns);
    into.values.set(values, (row + r) * into.columns + column);
  }
}

/** [rows * columns] → [columns * rows] */
export function transposed(values: Float32Array, columns: number): Float32Array {
  const rows = values.length / columns;
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < columns; i++) result[i * rows + row] = values[row * columns + i]!;
  }
  return result;
}

export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}
