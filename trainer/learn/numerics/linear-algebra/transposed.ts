/** [rows * columns], row-major → [columns * rows] */
export function transposed(values: Float32Array, columns: number): Float32Array {
  const rows = values.length / columns;
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let i = 0; i < columns; i++) result[i * rows + row] = values[row * columns + i]!;
  return result;
}
