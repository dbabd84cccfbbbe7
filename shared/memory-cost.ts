/**
 * Estimates the memory that a version needs in an isolate. The edge evicts versions by this estimate, and the trainer refuses to publish
 * a version that no edge could open.
 */
import type { Manifest } from "./manifest.ts";

export type MemoryCost = {
  /** Bytes of the WASM heap. */
  readonly heapBytes: number;
  /** Bytes of JavaScript memory. */
  readonly scriptBytes: number;
  /** Additional bytes of JavaScript memory while the version loads. */
  readonly loadingBytes: number;
};

/** The unit of memory in the settings of edge and trainer. */
export const MEGABYTE = 1_000_000;

/** Limit on versions, the scoring runtime and loads together: an isolate's 128 MB without the Worker's own code and data. */
export const ISOLATE_BYTES_MAX = 121e6;

/** The size of the scoring runtime's heap before any version is loaded. */
export const RUNTIME_HEAP_BYTES = 16 * 1024 * 1024;
/** Heap bytes of a graph without its weights, per byte of its file. */
const GRAPH_FACTOR = 3.5;
/** Heap bytes of one scoring run, per item. */
const RUN_BYTES_PER_ITEM = 12;
/** Memory of a decoded file per byte: a view of its bytes, and small indices. */
const DECODED_FACTOR = 1.25;

const MEBIBYTE = 1024 * 1024;

/**
 * Weights pass through JavaScript in pieces. This many bytes of them are there at a time: all if they are few, and the fewer, the more of
 * the isolate the weights take.
 */
export function passingBytes(weightBytes: number): number {
  const [fewest, more] = [6 * MEBIBYTE, 16 * MEBIBYTE];
  return weightBytes <= more ? weightBytes : weightBytes <= 4 * more ? more : fewest;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

export function memoryCostOf(manifest: Manifest): MemoryCost {
  const { model, catalog, attributes, users, user_values, similarity, item_count } = manifest;
  const { recent_choices, together, repeat_intervals, item_hours, score_recipe } = manifest;
  const weights = sum(model.weights.map(({ file }) => file.size));
  const optional = [
    attributes,
    users?.directory,
    user_values,
    similarity,
    recent_choices,
    together,
    repeat_intervals,
    item_hours,
    score_recipe,
  ].map((file) => file?.size ?? 0);
  const decoded = optional.reduce((total, size) => total + size, catalog.size);
  return {
    heapBytes: Math.ceil(weights + GRAPH_FACTOR * model.graph.size + RUN_BYTES_PER_ITEM * item_count),
    scriptBytes: Math.ceil(DECODED_FACTOR * decoded),
    loadingBytes: passingBytes(weights),
  };
}

/** Limit on the memory of a version's changed items: a copy of every column, the order of the ids, and a bit for each hidden item. */
export const changedItemsBytes = ({ attributes, item_count }: Pick<Manifest, "attributes" | "item_count">): number =>
  Math.ceil((attributes?.size ?? 0) + (4 + 1 / 8) * item_count);

/**
 * The smallest memory budget, in bytes, with which an edge can serve versions at the same time.
 *
 * @param haveChanges Whether the customer has changed items since a training. Each version then has changed items of its own.
 */
export function leastMemoryBytes(manifests: readonly Manifest[], haveChanges = false): number {
  const bytes = manifests.map((manifest) => {
    const { heapBytes, scriptBytes } = memoryCostOf(manifest);
    return heapBytes + scriptBytes + (haveChanges ? changedItemsBytes(manifest) : 0);
  });
  return RUNTIME_HEAP_BYTES + sum(bytes);
}
