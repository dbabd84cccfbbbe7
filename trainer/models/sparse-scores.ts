import type { GraphBuilder } from "../onnx/graph.ts";
import type { DataType } from "../onnx/proto.ts";
import { type EncodedSparse, ROWS_PER_BLOCK } from "./sparse-encoding.ts";
import { float32, gather, INT32, INT64, int32, int64 } from "./tensor-values.ts";

/** The part of a history that a term looks at, newest last: rows of its matrix and how much each counts. */
export type WeighedHistory = { readonly items: string; readonly weights: string };

/** Puts data into a file beside the graph and gives the tensor's name. */
export type ExternalFile = (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) => string;

/**
 * float32 [columnCount]: `base` plus the weighted sum of the history's rows. What it costs follows the entries of these
 * rows, not the longest of them: they are laid end to end, and a running sum says of each entry whose it is.
 */
export function addSparseScores(
  graph: GraphBuilder,
  base: string,
  history: WeighedHistory,
  sources: { readonly matrix: EncodedSparse; readonly file: ExternalFile },
): string {
  const { at, factors } = entriesOf(graph, history, sources);
  const { columns, values } = decoded(graph, at, sources);
  const weighted = graph.op("Mul", [values, factors]);
  // ScatterElements, not ScatterND: the latter loses sums on several threads when indices repeat.
  return graph.op("ScatterElements", [base, columns, weighted], { axis: { int: 0 }, reduction: { text: "add" } });
}

type Sources = { readonly matrix: EncodedSparse; readonly file: ExternalFile };

/** Of every entry of the history's rows, in turn: int32 [E] where it stands, and float32 [E] what it is multiplied by. */
function entriesOf(graph: GraphBuilder, history: WeighedHistory, { matrix, file }: Sources) {
  const { rowCount, blockStart, offset } = matrix;
  const blocks = file("blocks", "int32", [blockStart.length], blockStart);
  const offsets = file("offsets", "uint16", [rowCount + 1], offset);
  const one = graph.constant(int32([], 1));
  const startOf = (row: string) => {
    const block = graph.op("Div", [row, graph.constant(int32([], ROWS_PER_BLOCK))]);
    const own = graph.op("Cast", [gather(graph, offsets, row)], { to: { int: INT32 } });
    return graph.op("Add", [gather(graph, blocks, block), own]);
  };
  const from = startOf(history.items);
  const length = graph.op("Sub", [startOf(graph.op("Add", [history.items, one])), from]);

  const axis = graph.constant(int32([], 0));
  const begin = graph.op("CumSum", [length, axis], { exclusive: { int: 1 } });
  const total = graph.op("ReduceSum", [length], { keepdims: { int: 1 } });
  // A mark where each row begins, several for the empty ones before it; their running sum counts rows from one.
  const size = graph.op("Cast", [graph.op("Add", [total, one])], { to: { int: INT64 } });
  const none = graph.op("Expand", [graph.constant(int32([1], 0)), size]);
  const marks = graph.op("ScatterElements", [none, begin, graph.op("Expand", [one, graph.op("Shape", [begin])])], {
    axis: { int: 0 },
    reduction: { text: "add" },
  });
  const [first, last] = [0, -1].map((value) => graph.constant(int64([1], value)));
  const counted = graph.op("Slice", [graph.op("CumSum", [marks, axis]), first!, last!, first!]);
  const row = graph.op("Sub", [counted, one]);
  const position = graph.op("Range", [axis, graph.op("Squeeze", [total]), one]);
  const at = graph.op("Add", [position, gather(graph, graph.op("Sub", [from, begin]), row)]);
  return { at, factors: gather(graph, history.weights, row) };
}

/** int32 [E] columns and float32 [E] values of the entries that stand there. */
function decoded(graph: GraphBuilder, at: string, { matrix: { entries }, file }: Sources) {
  const taken = (name: string, type: DataType, data: Uint8Array | Uint16Array | Int32Array | Float32Array) =>
    gather(graph, file(name, type, [data.length], data), at);
  const widened = (value: string) => graph.op("Cast", [value], { to: { int: INT32 } });
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
  const { high, highs } = entries;
  if (high) {
    const upper = graph.op("Mul", [widened(taken("high", "uint8", high)), graph.constant(int32([], LOW_COLUMNS))]);
    return { columns: graph.op("Add", [low, upper]), values };
  }
  if (!highs.some((value) => value > 0)) return { columns: low, values };
  const upper = gather(graph, graph.constant(int32([highs.length], ...highs)), codes);
  return { columns: graph.op("Add", [low, upper]), values };
}

const LOW_COLUMNS = 65_536;
