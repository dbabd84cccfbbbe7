/**
 * One learnt array with its gradient. A table (`rowSize` set) remembers which rows received a gradient since the last
 * update, so that an update costs what was touched and not what exists.
 */
export type Parameter = {
  readonly dims: readonly number[];
  readonly value: Float32Array<ArrayBuffer>;
  readonly gradient: Float32Array<ArrayBuffer>;
  readonly rowSize: number;
  /** Null: every element is updated in every step. */
  readonly touched: TouchedRows | null;
};

export type TouchedRows = {
  /** The first `count` entries are the touched rows, in order of first touch. */
  readonly rows: Int32Array;
  readonly isTouched: Uint8Array; // [rows]
  count: number;
};

export type Parameters = ReadonlyMap<string, Parameter>;

/** `lazy`: only touched rows are updated; for large tables of which a step sees a part. */
export function parameter(
  dims: readonly number[],
  fill: (index: number) => number,
  options: { readonly lazy?: boolean } = {},
): Parameter {
  const size = dims.reduce((product, dim) => product * dim, 1);
  const rowCount = dims[0] ?? 1;
  const value = new Float32Array(size);
  for (let i = 0; i < size; i++) value[i] = fill(i);
  const touched = options.lazy
    ? { rows: new Int32Array(rowCount), isTouched: new Uint8Array(rowCount), count: 0 }
    : null;
  return { dims, value, gradient: new Float32Array(size), rowSize: size / rowCount, touched };
}

/** gradient[indices[i]] += rows[i], duplicates included. */
export function addRowGradient(to: Parameter, indices: Int32Array, rows: Float32Array): void {
  const { gradient, rowSize, touched } = to;
  for (let i = 0, from = 0; i < indices.length; i++) {
    const row = indices[i]!;
    if (touched && touched.isTouched[row] === 0) {
      touched.isTouched[row] = 1;
      touched.rows[touched.count++] = row;
    }
    const start = row * rowSize;
    for (let at = start; at < start + rowSize; at++) gradient[at] = gradient[at]! + rows[from++]!;
  }
}

/** Forgets the gradient of touched rows; a dense gradient is overwritten by the next step anyway. */
export function clearRowGradients({ gradient, rowSize, touched }: Parameter): void {
  if (!touched) {
    gradient.fill(0);
    return;
  }
  for (let i = 0; i < touched.count; i++) {
    const row = touched.rows[i]!;
    gradient.fill(0, row * rowSize, (row + 1) * rowSize);
    touched.isTouched[row] = 0;
  }
  touched.count = 0;
}
