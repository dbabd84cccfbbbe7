import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { cast, float32, gather, int32, int64 } from "../numerics/onnx/graph-shorthand.ts";
import type { DataType } from "../numerics/onnx/proto.ts";
import { CHUNK, type EncodedSparse, ROWS_PER_BLOCK } from "./sparse-encoding.ts";

/** The part of a history that a term looks at, newest last: rows of its matrix and how much each counts. */
export type WeighedHistory = { readonly items: string; readonly weights: string };

/** Puts data into a file beside the graph and gives the tensor's name. */
export type ExternalFile = (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) => string;

/**
 * float32 [columnCount]: `base` plus the weighted sum of the history's rows. Rows are read in chunks, so that what it costs
 * follows their own lengths and not the longest of them.
 */
export function addSparseScores(graph: GraphBuilder, base: string, history: WeighedHistory, sources: Sources): string {
  const { at, inRow, factors } = chunksOf(graph, history, sources);
  const { columns, values } = decoded(graph, at, sources);
  const weighted = graph.op("Mul", [graph.op("Where", [inRow, values, graph.constant(float32([], 0))]), factors]);
  const [flatColumns, flatWeights] = [columns, weighted].map((grid) =>
    graph.op("Reshape", [grid, graph.constant(int64([1], -1))]),
  );
  // ScatterElements, not ScatterND: the latter loses sums on several threads when indices repeat.
  return graph.op("ScatterElements", [base, flatColumns!, flatWeights!], {
    axis: { int: 0 },
    reduction: { text: "add" },
  });
}

type Sources = { readonly matrix: EncodedSparse; readonly file: ExternalFile };

/**
 * All chunks of the history's rows, C in turn: int32 [C, CHUNK] where their entries stand, bool [C, CHUNK] which of them
 * belong to the row, and float32 [C, 1] what they are multiplied by.
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

/** Gives int32 [L] where rows begin. */
function rowStarts(graph: GraphBuilder, { matrix: { rowCount, blockStart, offset }, file }: Sources) {
  const blocks = file("blocks", "int32", [blockStart.length], blockStart);
  const offsets = file("offsets", "uint16", [rowCount + 1], offset);
  return (rows: string): string => {
    const block = graph.op("Div", [rows, graph.constant(int32([], ROWS_PER_BLOCK))]);
    const own = cast(graph, gather(graph, offsets, rows), "int32");
    return graph.op("Add", [gather(graph, blocks, block), own]);
  };
}

/** For so many things of each owner, laid end to end: int32 [total] whose each is, and int32 [L] where an owner's begin. */
function ownersOf(graph: GraphBuilder, counts: string) {
  const one = graph.constant(int32([], 1));
  const axis = graph.constant(int32([], 0));
  const begin = graph.op("CumSum", [counts, axis], { exclusive: { int: 1 } });
  const total = graph.op("ReduceSum", [counts], { keepdims: { int: 1 } });
  // A mark where each owner's begin, several where others have none; their running sum counts owners from one.
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

/** int32 and float32 of the shape of `at`: columns and values of the entries that stand there. */
function decoded(graph: GraphBuilder, at: string, { matrix: { entries }, file }: Sources) {
  const taken = (name: string, type: DataType, data: Uint8Array | Uint16Array | Int32Array | Float32Array) =>
    gather(graph, file(name, type, [data.length], data), at);
  const widened = (value: string) => cast(graph, value, "int32");
  if (entries.kind === "exact") {
    const columns = taken("columns", entries.columnType, entries.columns);
    return {
      columns: entries.columnType === "int32" ? columns : widened(columns),
      values: taken("values", "float32", entries.values),
    };
  }
  const low = widened(taken("low", "uint16", entries.low));
  const codes = widened(taken("codes", "uint8", entries.codes));
  const values = gather(graph, graph.constant(float32([entries.levels.length], ...entries.levels)), codes);
  if (!entries.highs.some((high) => high > 0)) return { columns: low, values };
  const high = gather(graph, graph.constant(int32([entries.highs.length], ...entries.highs)), codes);
  return { columns: graph.op("Add", [low, high]), values };
}
