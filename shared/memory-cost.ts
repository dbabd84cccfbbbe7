/** What a version takes of an isolate: the edge keeps to it, and the trainer publishes nothing that no edge could open. */
import type { Manifest } from "./manifest.ts";

/** Bytes: of the WASM heap, and of JavaScript's own. */
export type MemoryCost = { readonly heapBytes: number; readonly scriptBytes: number };

/** What the scoring runtime's heap takes before any version is in it. */
export const RUNTIME_HEAP_BYTES = 16 * 1024 * 1024;
/** A graph without its weights takes about so many times its bytes, and a run so many bytes for each item. */
const GRAPH_FACTOR = 3.5;
const RUN_BYTES_PER_ITEM = 12;
/** Decoded files are views of their bytes, and small indices beside them. */
const DECODED_FACTOR = 1.25;

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

export function memoryCostOf({ model, catalog, attributes, users, user_values, item_count }: Manifest): MemoryCost {
  const weights = weightsHeapBytes(model.weights.map(({ file }) => file.size));
  const optional = [attributes, users?.directory, user_values].map((file) => file?.size ?? 0);
  const decoded = optional.reduce((total, size) => total + size, catalog.size);
  return {
    heapBytes: Math.ceil(weights + GRAPH_FACTOR * model.graph.size + RUN_BYTES_PER_ITEM * item_count),
    scriptBytes: Math.ceil(DECODED_FACTOR * decoded),
  };
}

/** The least memory, in bytes, with which an edge can serve the version at all. */
export function leastMemoryBytes(manifest: Manifest): number {
  const { heapBytes, scriptBytes } = memoryCostOf(manifest);
  return RUNTIME_HEAP_BYTES + heapBytes + scriptBytes;
}
