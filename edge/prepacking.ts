/**
 * The runtime keeps a second, pre-packed copy of each matrix, for speed. Above this size the copy costs more memory than
 * its speed is worth; one such matrix is enough to do without the copies of all.
 */
const PREPACK_BYTES_MAX = 32 * 1024 * 1024;

/** Whether the runtime is to keep pre-packed copies of weights of these sizes. */
export const isPrepacked = (sizesBytes: readonly number[]): boolean =>
  sizesBytes.every((size) => size <= PREPACK_BYTES_MAX);

/** Bytes of the WASM heap that a graph's weights will take, the pre-packed copies included. */
export function weightsHeapBytes(sizesBytes: readonly number[]): number {
  const sum = sizesBytes.reduce((total, size) => total + size, 0);
  return isPrepacked(sizesBytes) ? 2 * sum : sum;
}
