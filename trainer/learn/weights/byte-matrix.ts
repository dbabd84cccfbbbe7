import type { VectorsRecipe } from "../../../shared/score-recipe.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { cast, integers, MICROSOFT, scalar } from "../numerics/onnx/graph-shorthand.ts";
import type { FileBox } from "../scoring/scoring-graph.ts";

/** An item matrix in a scoring graph: the rows of a history, and all items' products with a vector. */
export type ServedItems = {
  /** int32 [L] item indices → float32 [L, width]. */
  readonly rowsOf: (items: string) => string;
  /** float32 [1, width] → [itemCount]: products with every row. */
  readonly scoresOf: (vector: string) => string;
  readonly files: FileBox["files"];
  readonly truncation: string;
  readonly recipe: VectorsRecipe;
  /** The arrays that the recipe names and no file has. */
  readonly arrays: Readonly<Record<string, Float32Array>>;
};

export type ItemMatrix = { readonly itemCount: number; readonly width: number; readonly values: Float32Array }; // [itemCount * width]

/** Largest number of items in a block: 32 KB at 64 numbers each, which stay in the L1 cache while the runtime packs them. */
const BLOCK_ITEMS = 512;
/** Items that the runtime's kernels multiply at once. */
const KERNEL_ITEMS = 64;
export const SCALE_BYTES = 4;
/** The code that stands for 0. */
const ZERO = 128;

/** Blocks of the same number of items, a multiple of KERNEL_ITEMS. The last block is filled up with zeros. */
export function blocksOf(itemCount: number) {
  if (itemCount <= BLOCK_ITEMS) return { blocks: 1, blockItems: itemCount, padded: itemCount };
  const least = Math.ceil(itemCount / Math.ceil(itemCount / BLOCK_ITEMS));
  const blockItems = Math.ceil(least / KERNEL_ITEMS) * KERNEL_ITEMS;
  const blocks = Math.ceil(itemCount / blockItems);
  return { blocks, blockItems, padded: blocks * blockItems };
}

/** Bytes of the files of `serveBytes`. */
export const itemMatrixBytes = (itemCount: number, width: number): number =>
  width * blocksOf(itemCount).padded + itemCount * SCALE_BYTES;

/**
 * An item matrix with one byte per number and one scale per item. Within a block, columns are items, as MatMulIntegerToFloat
 * needs. One block of all items would put the numbers of an item too far apart: a million items of 64 numbers then take
 * onnxruntime-web 18 ms, and 14 ms in blocks. Codes are uint8 around ZERO, because products of uint8 and int8 saturate on
 * processors without VNNI, which gives wrong results.
 */
export function serveBytes(graph: GraphBuilder, matrix: ItemMatrix, box: FileBox): ServedItems {
  const { itemCount, width } = matrix;
  const { blocks, blockItems, padded } = blocksOf(itemCount);
  const { codes, scales } = quantised(matrix);
  const table = box.external("items", "uint8", [blocks, width, blockItems], codes);
  const scale = box.external("item_scales", "float32", [itemCount], scales);
  const tableZero = graph.constant({ type: "uint8", dims: [], data: Uint8Array.of(ZERO) });
  return {
    rowsOf(items) {
      const floatZero = graph.constant({ type: "float32", dims: [], data: Float32Array.of(ZERO) });
      const numbers = graph.constant({ type: "int64", dims: [width, 3], data: placesOfNumbers(width) });
      // The scales come before the table: tensors are stored in the order of their first use, and the heap, which grows by
      // fifths, ends smaller when the large tensor is the last.
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
    recipe: bytesRecipe(matrix, box.pathOf),
    arrays: {},
  };
}

/** How a few vectors are read from the files of `serveBytes`. */
export const bytesRecipe = ({ itemCount, width }: Omit<ItemMatrix, "values">, pathOf: FileBox["pathOf"]) =>
  ({
    kind: "bytes",
    file: pathOf("items"),
    width,
    block_items: blocksOf(itemCount).blockItems,
    scales: pathOf("item_scales"),
  }) as const satisfies VectorsRecipe;

/** The place (0, i, 0) of every number i of an item. [width * 3] */
const placesOfNumbers = (width: number) =>
  BigInt64Array.from({ length: 3 * width }, (_, at) => (at % 3 === 1 ? BigInt((at - 1) / 3) : 0n));

/** codes [blocks * width * blockItems], scales [itemCount]: a value is about (code − ZERO) · the scale of its item. */
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
