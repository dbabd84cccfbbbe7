import type { DenseWeights } from "./weight-matrix.ts";

/** With `rowScales`, values are int8 codes: code c of row r stands for c·|c|·rowScales[r]. */
export type EncodedDense = {
  readonly kind: "dense";
  readonly rowCount: number;
  readonly columnCount: number;
  readonly rowScales: Float32Array | undefined; // [rowCount]
  readonly valueType: "float32" | "int8";
  readonly values: Float32Array | Int8Array; // [rowCount * columnCount]
};

const CODE_MAX = 127;

export const denseBytes = (rowCount: number, columnCount: number, isExact: boolean): number =>
  isExact ? 4 * rowCount * columnCount : rowCount * (columnCount + 4);

export function encodeDense({ rowCount, columnCount, values }: DenseWeights, isExact: boolean): EncodedDense {
  const size = { kind: "dense", rowCount, columnCount } as const;
  if (isExact) return { ...size, rowScales: undefined, valueType: "float32", values };
  const rowScales = new Float32Array(rowCount);
  const codes = new Int8Array(values.length);
  for (let row = 0; row < rowCount; row++) {
    const [from, to] = [row * columnCount, (row + 1) * columnCount];
    let peak = 0;
    for (let at = from; at < to; at++) peak = Math.max(peak, Math.abs(values[at]!));
    rowScales[row] = peak / CODE_MAX ** 2;
    for (let at = from; at < to; at++) {
      const code = peak === 0 ? 0 : Math.round(CODE_MAX * Math.sqrt(Math.abs(values[at]!) / peak));
      codes[at] = values[at]! < 0 ? -code : code;
    }
  }
  return { ...size, rowScales, valueType: "int8", values: codes };
}
