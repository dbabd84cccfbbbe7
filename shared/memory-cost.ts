/** What a version takes of an isolate: the edge keeps to it, and the trainer publishes nothing that no edge could open. */
import type { Manifest } from "./manifest.ts";

/** Bytes. */
export type MemoryCost = {
  /** Of the WASM heap. */
  readonly heapBytes: number;
  /** Of JavaScript's own. */
  readonly scriptBytes: number;
  /** Of JavaScript's own besides, while the version loads. */
  readonly loadingBytes: number;
};

/** In settings of memory, at the edge as at the trainer. */
export const MEGABYTE = 1_000_000;

/** What versions, the runtime and loads may take together: an isolate's 128 MB without the Worker's own code and data. */
export const ISOLATE_BYTES_MAX = 121e6;

/** What the scoring runtime's heap takes before any version is in it. */
export const RUNTIME_HEAP_BYTES = 16 * 1024 * 1024;
/** A graph without its weights takes about so many times its bytes, and a run so many bytes for each item. */
const GRAPH_FACTOR = 3.5;
const RUN_BYTES_PER_ITEM = 12;
/** Decoded files are views of their bytes, and small indices beside them. */
const DECODED_FACTOR = 1.25;

/** Weights pass through JavaScript in pieces: as many bytes as are there at once. */
const PIECES_BYTES = 6 * 1024 * 1024;

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export function memoryCostOf({ model, catalog, attributes, users, user_values, item_count }: Manifest): MemoryCost {
  const weights = sum(model.weights.map(({ file }) => file.size));
  const optional = [attributes, users?.directory, user_values].map((file) => file?.size ?? 0);
  const decoded = optional.reduce((total, size) => total + size, catalog.size);
  return {
    heapBytes: Math.ceil(weights + GRAPH_FACTOR * model.graph.size + RUN_BYTES_PER_ITEM * item_count),
    scriptBytes: Math.ceil(DECODED_FACTOR * decoded),
    loadingBytes: Math.min(weights, PIECES_BYTES),
  };
}

/** The least memory, in bytes, with which an edge can serve the version at all. */
export function leastMemoryBytes(manifest: Manifest): number {
  const { heapBytes, scriptBytes } = memoryCostOf(manifest);
  return RUNTIME_HEAP_BYTES + heapBytes + scriptBytes;
}
