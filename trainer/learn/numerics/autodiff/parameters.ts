/** A learnt array with its gradient. A lazy one remembers which rows got a gradient, so that an update costs only these. */
export type Parameter = {
  readonly dims: readonly number[];
  /** In shared memory, where all threads of a training read it. */
  readonly value: Float32Array<SharedArrayBuffer>;
  readonly gradient: Float32Array<ArrayBuffer>;
  /** Elements of one row, which is one index of the first dimension. */
  readonly rowSize: number;
  /** Null unless lazy: every step then updates every element. */
  readonly touched: TouchedRows | null;
};

export type TouchedRows = {
  /** The first `count` entries are the rows that got a gradient since the last update. */
  readonly rows: Int32Array; // [rowCount]
  readonly isTouched: Uint8Array; // [rowCount]
  count: number;
};

export type Parameters = ReadonlyMap<string, Parameter>;

/** `lazy` is for large tables of which a step reads few rows. */
export function parameter(
  dims: readonly number[],
  fill: (index: number) => number,
  options: { readonly lazy?: boolean } = {},
): Parameter {
  const size = dims.reduce((product, dim) => product * dim, 1);
  const rowCount = dims[0] ?? 1;
  const value = new Float32Array(new SharedArrayBuffer(4 * size));
  for (let i = 0; i < size; i++) value[i] = fill(i);
  const touched = options.lazy
    ? { rows: new Int32Array(rowCount), isTouched: new Uint8Array(rowCount), count: 0 }
    : null;
  return { dims, value, gradient: new Float32Array(size), rowSize: size / rowCount, touched };
}

/** gradient[indices[i]] += rows[i], also where an index is repeated. */
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

/** Sets the gradient to 0 after an update: of a lazy parameter, only in the touched rows. */
export function clearGradient({ gradient, rowSize, touched }: Parameter): void {
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
