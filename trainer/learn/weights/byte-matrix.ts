import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { cast, integers, MICROSOFT, scalar } from "../numerics/onnx/graph-shorthand.ts";
import type { FileBox } from "../scoring/scoring-graph.ts";

/** An item matrix inside a scoring graph: rows for a history, and scores for a vector. */
export type ServedItems = {
  /** [L, width] for item indices int32 [L]. */
  readonly rowsOf: (items: string) => string;
  /** [itemCount] products with every row, for a vector [1, width]. */
  readonly scoresOf: (vector: string) => string;
  readonly files: FileBox["files"];
  readonly truncation: string;
};

export type ItemMatrix = { readonly itemCount: number; readonly width: number; readonly values: Float32Array };

/** Items of a block: 32 KB of 64 numbers each, which stay in a processor's nearest cache while the runtime packs them. */
const BLOCK_ITEMS = 512;
const KERNEL_ITEMS = 64;
export const SCALE_BYTES = 4;
const ZERO = 128;

/** Blocks of equally many items, as many as the runtime's kernels take at once; what is left of the last one is zeros. */
export function blocksOf(itemCount: number) {
  if (itemCount <= BLOCK_ITEMS) return { blocks: 1, blockItems: itemCount, padded: itemCount };
  const least = Math.ceil(itemCount / Math.ceil(itemCount / BLOCK_ITEMS));
  const blockItems = Math.ceil(least / KERNEL_ITEMS) * KERNEL_ITEMS;
  const blocks = Math.ceil(itemCount / blockItems);
  return { blocks, blockItems, padded: blocks * blockItems };
}

/**
 * An item matrix with a byte for each number and one scale for each item. Within a block of items columns are items, as
 * MatMulIntegerToFloat reads them; in blocks, because columns of all items at once lie too far apart: a million of 64 numbers take
 * onnxruntime-web 14 ms, and 18 as one block. Codes are uint8 around ZERO: products of uint8 and int8 saturate on processors
 * without VNNI and come out wrong.
 */
export function serveBytes(graph: GraphBuilder, matrix: ItemMatrix, box: FileBox): ServedItems {
  const { itemCount, width } = matrix;
  const { blocks, blockItems, padded } = blocksOf(itemCount);
  const { codes, scales } = quantised(matrix);
  const table = box.external("items", "uint8", [blocks, width, blockItems], codes);
  const scale = box.external("item_scales", "float32", [itemCount], scales);
  const tableZero = graph.constant({ type: "uint8", dims: [], data: Uint8Array.of(ZERO) });
  const floatZero = graph.constant({ type: "float32", dims: [], data: Float32Array.of(ZERO) });
  const numbers = graph.constant({ type: "int64", dims: [width, 3], data: placesOfNumbers(width) });
  return {
    rowsOf(items) {
      // Before the table: tensors lie in the order of their first use, and the heap, which grows by fifths, ends smaller
      // with the large one last.
      const unit = graph.op("Gather", [scale, graph.op("Unsqueeze", [items, integers(graph, 1)])]);
      const item = cast(graph, graph.op("Unsqueeze", [items, integers(graph, 1, 2)]), "int64");
      const block = graph.op("Mul", [graph.op("Div", [item, integers(graph, blockItems)]), integers(graph, 1, 0, 0)]);
      const inBlock = graph.op("Mul", [graph.op("Mod", [item, integers(graph, blockItems)]), integers(graph, 0, 0, 1)]);
      const places = graph.op("Add", [graph.op("Add", [block, inBlock]), numbers]); // [L, width, 3]
      const found = graph.op("GatherND", [table, places]);
      const numbersFound = cast(graph, found, "float32");
      return graph.op("Mul", [graph.op("Sub", [numbersFound, floatZero]), unit]);
    },
    scoresOf(vector) {
      const [code, unit, zero] = graph.ops("DynamicQuantizeLinear", [vector], 3) as [string, string, string];
      const inputs = [code, table, unit, scalar(graph, 1), zero, tableZero];
      const products = graph.op("MatMulIntegerToFloat", inputs, {}, MICROSOFT); // [blocks, 1, blockItems]
      const flat = graph.op("Reshape", [products, integers(graph, -1)]);
      const cut =
        padded === itemCount ? flat : graph.op("Slice", [flat, integers(graph, 0), integers(graph, itemCount)]);
      return graph.op("Mul", [cut, scale]);
    },
    files: box.files,
    truncation: "item vectors as int8 with one scale per item",
  };
}

/** [width * 3]: 0, i, 0 */
const placesOfNumbers = (width: number) =>
  BigInt64Array.from({ length: 3 * width }, (_, at) => (at % 3 === 1 ? BigInt((at - 1) / 3) : 0n));

/** codes [blocks * width * blockItems], scales [itemCount]; value ≈ (code − ZERO) · scale of its item. */
function quantised({ itemCount, width, values }: ItemMatrix) {
  const { blockItems, padded } = blocksOf(itemCount);
  const codes = new Uint8Array(width * padded).fill(ZERO);
  const scales = new Float32Array(itemCount);
  for (let item = 0; item < itemCount; item++) {
    let largest = 0;
    for (let i = 0; i < width; i++) largest = Math.max(largest, Math.abs(values[item * width + i]!));
    scales[item] = largest / 127 || 1;
    const first = Math.floor(item / blockItems) * blockItems * width + (item % blockItems);
    for (let i = 0; i < width; i++)
      codes[first + i * blockItems] = ZERO + Math.round(values[item * width + i]! / scales[item]!);
  }
  return { codes, scales };
}
