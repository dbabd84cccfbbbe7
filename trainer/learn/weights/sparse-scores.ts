import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { cast, float32, gather, int32, int64 } from "../numerics/onnx/graph-shorthand.ts";
import type { DataType } from "../numerics/onnx/proto.ts";
import { CHUNK, type EncodedLinks, type EncodedSparse, ROWS_PER_BLOCK } from "./sparse-encoding.ts";

/** The history entries that a term reads, newest last: rows of its matrix (int32 [L]) and their weights (float32 [L]). */
export type WeighedHistory = { readonly items: string; readonly weights: string };

/** Stores data in a file beside the graph and returns the tensor's name. */
export type ExternalFile = (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) => string;

/**
 * float32 [columnCount]: `base` plus the weighted sum of the history's rows. Rows are read in chunks, so that the cost depends
 * on the length of each row and not on the longest.
 */
export function addSparseScores(graph: GraphBuilder, base: string, history: WeighedHistory, sources: Sources): string {
  const { at, inRow, factors } = chunksOf(graph, history, sources);
  const { columns, values } = decoded(graph, at, sources);
  const none = graph.constant(float32([], 0));
  const weighted = values
    ? graph.op("Mul", [graph.op("Where", [inRow, values, none]), factors])
    : graph.op("Where", [inRow, factors, none]);
  const [flatColumns, flatWeights] = [columns, weighted].map((grid) =>
    graph.op("Reshape", [grid, graph.constant(int64([1], -1))]),
  );
  // ScatterElements, not ScatterND: the latter loses sums on several threads when indices repeat.
  return graph.op("ScatterElements", [base, flatColumns!, flatWeights!], {
    axis: { int: 0 },
    reduction: { text: "add" },
  });
}

type Sources = { readonly matrix: EncodedSparse | EncodedLinks; readonly file: ExternalFile };

/**
 * The C chunks of all rows of the history. `at` int32 [C, CHUNK]: positions of entries; `inRow` bool [C, CHUNK]: whether an
 * entry belongs to the row; `factors` float32 [C, 1]: the weight of the history entry.
 */
function chunksOf(graph: GraphBuilder, history: WeighedHistory, sources: Sources) {
  const one = graph.constant(int32([], 1));
  const size = graph.constant(int32([], CHUNK));
  const startOf = rowStarts(graph, sources);
  const from = startOf(history.items);
  const end = startOf(graph.op("Add", [history.items, one]));
  const length = graph.op("Sub", [end, from]);
  const counts = graph.op("Div", [graph.op("Add", [length, graph.constant(int32([], CHUNK - 1))]), size]);
  const { row, begin, total } = ownersOf(graph, counts);

  const ofRow = (values: string) => gather(graph, values, row);
  const chunk = graph.op("Range", [graph.constant(int32([], 0)), graph.op("Squeeze", [total]), one]);
  const inRowBefore = graph.op("Mul", [graph.op("Sub", [chunk, ofRow(begin)]), size]);
  const asColumn = graph.constant(int64([1], 1));
  const column = (values: string) => graph.op("Unsqueeze", [values, asColumn]);
  const places = graph.constant(int32([CHUNK], ...Array.from({ length: CHUNK }, (_, i) => i)));
  const at = graph.op("Add", [column(graph.op("Add", [ofRow(from), inRowBefore])), places]);
  const inRow = graph.op("Less", [at, column(ofRow(end))]);
  return { at, inRow, factors: column(ofRow(history.weights)) };
}

/** Rows int32 [L] → int32 [L]: the positions of their first entries. */
function rowStarts(graph: GraphBuilder, { matrix, file }: Sources) {
  if ("rowStart" in matrix) {
    const starts = file("starts", "int32", [matrix.rowStart.length], matrix.rowStart);
    return (rows: string) => gather(graph, starts, rows);
  }
  const { rowCount, blockStart, offset } = matrix;
  const blocks = file("blocks", "int32", [blockStart.length], blockStart);
  const offsets = file("offsets", "uint16", [rowCount + 1], offset);
  return (rows: string): string => {
    const block = graph.op("Div", [rows, graph.constant(int32([], ROWS_PER_BLOCK))]);
    const own = cast(graph, gather(graph, offsets, rows), "int32");
    return graph.op("Add", [gather(graph, blocks, block), own]);
  };
}

/**
 * For owners with `counts` chunks each, which follow one another: `row` int32 [total], the owner of each chunk, and `begin`
 * int32 [L], the first chunk of each owner.
 */
function ownersOf(graph: GraphBuilder, counts: string) {
  const one = graph.constant(int32([], 1));
  const axis = graph.constant(int32([], 0));
  const begin = graph.op("CumSum", [counts, axis], { exclusive: { int: 1 } });
  const total = graph.op("ReduceSum", [counts], { keepdims: { int: 1 } });
  // One mark per owner at its first chunk (several where owners have none). The running sum numbers the owners from one.
  const size = cast(graph, graph.op("Add", [total, one]), "int64");
  const none = graph.op("Expand", [graph.constant(int32([1], 0)), size]);
  const marks = graph.op("ScatterElements", [none, begin, graph.op("Expand", [one, graph.op("Shape", [begin])])], {
    axis: { int: 0 },
    reduction: { text: "add" },
  });
  const [first, last] = [0, -1].map((value) => graph.constant(int64([1], value)));
  const counted = graph.op("Slice", [graph.op("CumSum", [marks, axis]), first!, last!, first!]);
  return { row: graph.op("Sub", [counted, one]), begin, total };
}

type Decoded = { readonly columns: string; readonly values?: string };

/** Columns (int32) and values (float32; absent: all 1) of the entries at these positions, in the shape of `at`. */
function decoded(graph: GraphBuilder, at: string, { matrix, file }: Sources): Decoded {
  const taken = (name: string, type: DataType, data: Uint8Array | Uint16Array | Int32Array | Float32Array) =>
    gather(graph, file(name, type, [data.length], data), at);
  const widened = (value: string) => cast(graph, value, "int32");
  const entries = "rowStart" in matrix ? matrix : matrix.entries;
  if ("columns" in entries) {
    const found = taken("columns", entries.columnType, entries.columns);
    const columns = entries.columnType === "int32" ? found : widened(found);
    return "values" in entries ? { columns, values: taken("values", "float32", entries.values) } : { columns };
  }
  const low = widened(taken("low", "uint16", entries.low));
  const codes = widened(taken("codes", "uint8", entries.codes));
  const values = gather(graph, graph.constant(float32([entries.levels.length], ...entries.levels)), codes);
  if (!entries.highs.some((high) => high > 0)) return { columns: low, values };
  const high = gather(graph, graph.constant(int32([entries.highs.length], ...entries.highs)), codes);
  return { columns: graph.op("Add", [low, high]), values };
}
