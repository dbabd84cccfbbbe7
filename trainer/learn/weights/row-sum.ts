/** One row of a sparse matrix while it is summed up: dense values, and which of them are not zero. */
export type RowSum = {
  readonly values: Float64Array; // [columnCount]
  /** The first `count` are the columns that were added to, in the order of their first addition. */
  readonly touched: Int32Array; // [columnCount]
  count: number;
};

export function rowSum(columnCount: number): RowSum {
  return { values: new Float64Array(columnCount), touched: new Int32Array(columnCount), count: 0 };
}

/** Adds a positive amount. */
export function addTo(row: RowSum, column: number, amount: number): void {
  if (row.values[column] === 0) row.touched[row.count++] = column;
  row.values[column]! += amount;
}

/** Back to all zeros, at the cost of what was touched. */
export function clearRow(row: RowSum): void {
  for (let i = 0; i < row.count; i++) row.values[row.touched[i]!] = 0;
  row.count = 0;
}
