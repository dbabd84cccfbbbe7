import { integers } from "../autodiff/graph-shorthand.ts";
import type { GraphBuilder } from "../onnx/graph.ts";
import { type FileBox, fileBox, type PartBudget } from "./scoring-graph.ts";

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

/** Float32 where the budget allows it, else a byte per number with one scale per item. */
export function serveItems(
  graph: GraphBuilder,
  matrix: ItemMatrix,
  { weightBytesMax, prefix }: PartBudget,
): ServedItems {
  const box = fileBox(graph, prefix);
  return matrix.values.byteLength <= weightBytesMax ? serveFloats(graph, matrix, box) : serveBytes(graph, matrix, box);
}

/** The last `count` entries of a history [L]. */
export const newestEntries = (graph: GraphBuilder, items: string, count: number) =>
  graph.op("Slice", [items, ...[-count, Number.MAX_SAFE_INTEGER, 0].map((at) => integers(graph, at))]);

function serveFloats(graph: GraphBuilder, { itemCount, width, values }: ItemMatrix, box: FileBox): ServedItems {
  const table = box.external("items", "float32", [itemCount, width], values);
  return {
    rowsOf: (items) => graph.op("Gather", [table, items]),
    scoresOf: (vector) => flat(graph, graph.op("Gemm", [vector, table], { transB: { int: 1 } })),
    files: box.files,
    truncation: "",
  };
}

/**
 * Columns are items, so that MatMulInteger reads the matrix as it lies. Codes are uint8 around ZERO: products of uint8
 * and int8 saturate on processors without VNNI and come out wrong.
 */
function serveBytes(graph: GraphBuilder, matrix: ItemMatrix, box: FileBox): ServedItems {
  const { itemCount, width } = matrix;
  const { codes, scales } = quantised(matrix);
  const table = box.external("items", "uint8", [width, itemCount], codes);
  const scale = box.external("item_scales", "float32", [itemCount], scales);
  const tableZero = graph.constant({ type: "uint8", dims: [], data: Uint8Array.of(ZERO) });
  const floatZero = graph.constant({ type: "float32", dims: [], data: Float32Array.of(ZERO) });
  const float = (value: string) => graph.op("Cast", [value], { to: { int: 1 } });
  return {
    rowsOf(items) {
      const columns = graph.op("Sub", [float(graph.op("Gather", [table, items], { axis: { int: 1 } })), floatZero]);
      const scaled = graph.op("Mul", [columns, graph.op("Gather", [scale, items])]);
      return graph.op("Transpose", [scaled], { perm: { ints: [1, 0] } });
    },
    scoresOf(vector) {
      const [code, unit, zero] = graph.ops("DynamicQuantizeLinear", [vector], 3) as [string, string, string];
      const products = float(graph.op("MatMulInteger", [code, table, zero, tableZero]));
      return flat(graph, graph.op("Mul", [graph.op("Mul", [products, unit]), scale]));
    },
    files: box.files,
    truncation: "item vectors as int8 with one scale per item",
  };
}

const ZERO = 128;

/** codes [width * itemCount], width-major; value ≈ (code − ZERO) · scale of its item. */
function quantised({ itemCount, width, values }: ItemMatrix) {
  const codes = new Uint8Array(width * itemCount);
  const scales = new Float32Array(itemCount);
  for (let item = 0; item < itemCount; item++) {
    let largest = 0;
    for (let i = 0; i < width; i++) largest = Math.max(largest, Math.abs(values[item * width + i]!));
    scales[item] = largest / 127 || 1;
    for (let i = 0; i < width; i++)
      codes[i * itemCount + item] = ZERO + Math.round(values[item * width + i]! / scales[item]!);
  }
  return { codes, scales };
}

const flat = (graph: GraphBuilder, value: string) => graph.op("Reshape", [value, integers(graph, -1)]);
