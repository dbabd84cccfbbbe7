/** One row of a sparse matrix while it is computed: all values, and the columns that are not zero. */
export type RowSum = {
  readonly values: Float64Array; // [columnCount]
  /** The first `count` entries are the columns that are not zero, in the order of their first addition. */
  readonly touched: Int32Array; // [columnCount]
  count: number;
};

export function rowSum(columnCount: number): RowSum {
  return { values: new Float64Array(columnCount), touched: new Int32Array(columnCount), count: 0 };
}

/** Adds a positive amount to a column. */
export function addTo(row: RowSum, column: number, amount: number): void {
  if (row.values[column] === 0) row.touched[row.count++] = column;
  row.values[column]! += amount;
}

/** Sets the row to 0; costs only the touched columns. */
export function clearRow(row: RowSum): void {
  for (let i = 0; i < row.count; i++) row.values[row.touched[i]!] = 0;
  row.count = 0;
}
