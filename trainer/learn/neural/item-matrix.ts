import type { VectorsRecipe } from "../../../shared/score-recipe.ts";
import type { PartBudget } from "../model.ts";
import { transposed } from "../numerics/linear-algebra/matrix.ts";
import { symmetricEigen } from "../numerics/linear-algebra/symmetric-eigen.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { integers } from "../numerics/onnx/graph-shorthand.ts";
import { type FileBox, fileBox } from "../scoring/scoring-graph.ts";
import {
  blocksOf,
  type ItemMatrix,
  itemMatrixBytes,
  SCALE_BYTES,
  type ServedItems,
  serveBytes,
} from "../weights/byte-matrix.ts";

/**
 * Adds item vectors to a graph: as float32 if the budget allows it, else as a byte per number with one scale per item, else
 * as bytes of as many leading directions as fit. Throws when not even one number per item fits.
 */
export function serveItems(
  graph: GraphBuilder,
  matrix: ItemMatrix,
  { weightBytesMax, prefix }: PartBudget,
): ServedItems {
  const { itemCount, width, values } = matrix;
  const box = fileBox(graph, prefix);
  if (values.byteLength <= weightBytesMax) return serveFloats(graph, matrix, box);
  const { padded } = blocksOf(itemCount);
  const rank = Math.floor((weightBytesMax - itemCount * SCALE_BYTES) / padded);
  if (rank >= width) return serveBytes(graph, matrix, box);
  if (rank < 1) {
    const [needed, allowed] = [padded + itemCount * SCALE_BYTES, weightBytesMax].map(megabytes);
    throw new Error(
      `The vectors of ${itemCount} items need at least ${needed} MB, but the budget allows ${allowed} MB: allow more weights, or train on fewer items.`,
    );
  }
  return serveDirections(graph, matrix, { rank, box });
}

/** Bytes of the files of `serveItems` when no direction is left out, in bytes of items if these are smaller. */
export const codedItemBytes = ({ itemCount, width }: Omit<ItemMatrix, "values">): number =>
  Math.min(4 * itemCount * width, itemMatrixBytes(itemCount, width));

const megabytes = (bytes: number) => (bytes / 1e6).toPrecision(3);

/** The last `count` entries of a history [L]. */
export const newestEntries = (graph: GraphBuilder, items: string, count: number) =>
  graph.op("Slice", [items, ...[-count, Number.MAX_SAFE_INTEGER, 0].map((at) => integers(graph, at))]);

/**
 * Columns are items: the runtime multiplies a row by such a matrix without a packed copy. In onnxruntime-web, 100,000 items of
 * 64 numbers take 1.5 ms, and 2.1 ms with the copy that rows as items would need.
 */
function serveFloats(graph: GraphBuilder, { itemCount, width, values }: ItemMatrix, box: FileBox): ServedItems {
  const table = box.external("items", "float32", [width, itemCount], transposed(values, width));
  return {
    rowsOf(items) {
      // Gather along the last axis would copy number by number, at 50 ns each in onnxruntime-web.
      const asRow = graph.op("Unsqueeze", [items, integers(graph, 0)]);
      const places = graph.op("Expand", [asRow, integers(graph, width, 1)]); // [width, L]
      const found = graph.op("GatherElements", [table, places], { axis: { int: 1 } });
      return graph.op("Transpose", [found], { perm: { ints: [1, 0] } });
    },
    scoresOf: (vector) => flat(graph, graph.op("MatMul", [vector, table])),
    files: box.files,
    truncation: "",
    recipe: { kind: "floats", file: box.pathOf("items"), width },
    arrays: {},
  };
}

/** Projects the vectors onto their leading directions, and back: E ≈ (E Bᵀ) B, where the rows of B are orthonormal. */
function serveDirections(
  graph: GraphBuilder,
  matrix: ItemMatrix,
  { rank, box }: { readonly rank: number; readonly box: FileBox },
): ServedItems {
  const { values, fraction } = leadingDirections(matrix, rank);
  const name = box.pathOf("basis");
  const basis = graph.constant({ type: "float32", dims: [rank, matrix.width], data: values });
  const inner = serveBytes(graph, { ...matrix, width: rank, values: projected(matrix, values, rank) }, box);
  return {
    rowsOf: (items) => graph.op("MatMul", [inner.rowsOf(items), basis]),
    scoresOf: (vector) => inner.scoresOf(graph.op("Gemm", [vector, basis], { transB: { int: 1 } })),
    files: inner.files,
    recipe: { ...(inner.recipe as VectorsRecipe & { kind: "bytes" }), basis: name },
    arrays: { [name]: values },
    truncation: `item vectors as int8 in ${rank} of ${matrix.width} dimensions, which hold ${(100 * fraction).toFixed(1)} % of them`,
  };
}

/** Largest number of items that the directions are computed from; of more items, every n-th is used. */
const DIRECTION_ITEMS_MAX = 100_000;

/** The leading eigenvectors of EᵀE, and the fraction of its trace that they hold. values: [rank * width] */
function leadingDirections({ itemCount, width, values }: ItemMatrix, rank: number) {
  const moments = new Float64Array(width * width);
  const stride = Math.ceil(itemCount / DIRECTION_ITEMS_MAX);
  for (let item = 0; item < itemCount; item += stride) {
    const row = values.subarray(item * width, (item + 1) * width);
    for (let i = 0; i < width; i++) for (let j = 0; j < width; j++) moments[i * width + j]! += row[i]! * row[j]!;
  }
  const eigen = symmetricEigen(moments, width);
  const sum = (part: Float64Array) => part.reduce((total, value) => total + Math.max(0, value), 0);
  const fraction = sum(eigen.values.subarray(0, rank)) / Math.max(1e-30, sum(eigen.values));
  return { values: Float32Array.from(eigen.vectors.subarray(0, rank * width)), fraction };
}

/** [itemCount * rank]: E Bᵀ. */
function projected({ itemCount, width, values }: ItemMatrix, basis: Float32Array, rank: number): Float32Array {
  const onto = new Float32Array(itemCount * rank);
  for (let item = 0; item < itemCount; item++) {
    for (let direction = 0; direction < rank; direction++) {
      let product = 0;
      for (let i = 0; i < width; i++) product += values[item * width + i]! * basis[direction * width + i]!;
      onto[item * rank + direction] = product;
    }
  }
  return onto;
}

const flat = (graph: GraphBuilder, value: string) => graph.op("Reshape", [value, integers(graph, -1)]);
