import type { PartBudget } from "../model.ts";
import { transposed } from "../numerics/linear-algebra/matrix.ts";
import { symmetricEigen } from "../numerics/linear-algebra/symmetric-eigen.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { integers } from "../numerics/onnx/graph-shorthand.ts";
import { type FileBox, fileBox } from "../scoring/scoring-graph.ts";
import { blocksOf, type ItemMatrix, SCALE_BYTES, type ServedItems, serveBytes } from "../weights/byte-matrix.ts";

/**
 * Float32 where the budget allows it, else a byte per number with one scale per item, else the same of as many leading
 * directions of the vectors as fit. Throws an Error when not even one number per item fits.
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
    const needed = megabytes(padded + itemCount * SCALE_BYTES);
    const allowed = `${megabytes(weightBytesMax)} MB are allowed for them`;
    throw new Error(
      `The vectors of ${itemCount} items need ${needed} MB at the very least, and ${allowed}: allow more weights, or train on fewer items.`,
    );
  }
  return serveDirections(graph, matrix, { rank, box });
}

const megabytes = (bytes: number) => (bytes / 1e6).toPrecision(3);

/** The last `count` entries of a history [L]. */
export const newestEntries = (graph: GraphBuilder, items: string, count: number) =>
  graph.op("Slice", [items, ...[-count, Number.MAX_SAFE_INTEGER, 0].map((at) => integers(graph, at))]);

/**
 * Columns are items: the runtime multiplies a row by such a matrix as it lies, and needs neither a packed copy of it nor
 * the time to make one (in onnxruntime-web, 100,000 items of 64 numbers: 1.5 ms, and 2.1 with the copy of the transpose).
 */
function serveFloats(graph: GraphBuilder, { itemCount, width, values }: ItemMatrix, box: FileBox): ServedItems {
  const table = box.external("items", "float32", [width, itemCount], transposed(values, width));
  return {
    rowsOf(items) {
      // Gather along the last axis copies number by number, at 50 ns each in onnxruntime-web.
      const asRow = graph.op("Unsqueeze", [items, integers(graph, 0)]);
      const places = graph.op("Expand", [asRow, integers(graph, width, 1)]); // [width, L]
      const found = graph.op("GatherElements", [table, places], { axis: { int: 1 } });
      return graph.op("Transpose", [found], { perm: { ints: [1, 0] } });
    },
    scoresOf: (vector) => flat(graph, graph.op("MatMul", [vector, table])),
    files: box.files,
    truncation: "",
  };
}

/** The vectors in the plane that holds most of them, and back: E ≈ (E Bᵀ) B with the rows of B orthonormal. */
function serveDirections(
  graph: GraphBuilder,
  matrix: ItemMatrix,
  { rank, box }: { readonly rank: number; readonly box: FileBox },
): ServedItems {
  const { values, share } = leadingDirections(matrix, rank);
  const basis = graph.constant({ type: "float32", dims: [rank, matrix.width], data: values });
  const inner = serveBytes(graph, { ...matrix, width: rank, values: projected(matrix, values, rank) }, box);
  return {
    rowsOf: (items) => graph.op("MatMul", [inner.rowsOf(items), basis]),
    scoresOf: (vector) => inner.scoresOf(graph.op("Gemm", [vector, basis], { transB: { int: 1 } })),
    files: inner.files,
    truncation: `item vectors as int8 in ${rank} of ${matrix.width} dimensions, which hold ${(100 * share).toFixed(1)} % of them`,
  };
}

/** Items that the directions are found from; of more, every so manieth. */
const DIRECTION_ITEMS_MAX = 100_000;

/** values [rank * width]: the leading eigenvectors of EᵀE, and the share of its trace that they hold. */
function leadingDirections({ itemCount, width, values }: ItemMatrix, rank: number) {
  const moments = new Float64Array(width * width);
  const stride = Math.ceil(itemCount / DIRECTION_ITEMS_MAX);
  for (let item = 0; item < itemCount; item += stride) {
    const row = values.subarray(item * width, (item + 1) * width);
    for (let i = 0; i < width; i++) for (let j = 0; j < width; j++) moments[i * width + j]! += row[i]! * row[j]!;
  }
  const eigen = symmetricEigen(moments, width);
  const sum = (part: Float64Array) => part.reduce((total, value) => total + Math.max(0, value), 0);
  const share = sum(eigen.values.subarray(0, rank)) / Math.max(1e-30, sum(eigen.values));
  return { values: Float32Array.from(eigen.vectors.subarray(0, rank * width)), share };
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
