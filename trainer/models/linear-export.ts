import type { GraphBuilder, TensorValue } from "../onnx/graph.ts";
import type { DataType } from "../onnx/proto.ts";
import type { HistoryWeighting, LinearModel, LinearTerm } from "./linear-model.ts";
import { fileBox, type GraphPart, type HistoryInputs, type PartBudget } from "./scoring-graph.ts";
import { type EncodedDense, type EncodedMatrix, type EncodedSparse, encodeWithin } from "./weight-encoding.ts";

/** Adds a linear model's nodes to a graph. */
export function appendLinear(
  graph: GraphBuilder,
  inputs: HistoryInputs,
  model: LinearModel,
  budget: PartBudget,
): GraphPart {
  const { itemCount, terms, bias } = model;
  const biasBytes = bias ? 4 * itemCount : 0;
  const matrices = terms.map((term) => term.matrix);
  const encoded = encodeWithin(matrices, Math.max(0, budget.weightBytesMax - biasBytes));
  const { external, files } = fileBox(graph, budget.prefix);

  const historyOf = weighedHistories(graph, inputs);
  const parts = terms.map((term, i) => {
    const file = (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) =>
      external(`term${i}_${name}`, type, dims, data);
    return termScores(graph, historyOf(term), encoded.matrices[i]!, file);
  });
  if (bias || parts.length === 0) {
    parts.push(external("bias", "float32", [itemCount], bias ?? new Float32Array(itemCount)));
  }
  const scores = parts.reduce((sum, part) => graph.op("Add", [sum, part]));
  return { scores, weights: files, truncation: encoded.truncation };
}

/** The part of a history that a term looks at, newest last: item indices and how much each counts. */
type WeighedHistory = { readonly items: string; readonly weights: string };

/** Gives the history as a term sees it; terms of equal weighting share their nodes. */
function weighedHistories(graph: GraphBuilder, inputs: HistoryInputs) {
  const made = new Map<string, WeighedHistory>();
  return ({ weighting }: LinearTerm): WeighedHistory => {
    const { distinct, scale, halfLifeDays, window } = weighting;
    const key = [distinct, scale, halfLifeDays, window].join();
    const weighed = made.get(key) ?? weighedHistory(graph, inputs, weighting);
    made.set(key, weighed);
    return weighed;
  };
}

function weighedHistory(graph: GraphBuilder, inputs: HistoryInputs, weighting: HistoryWeighting): WeighedHistory {
  const { distinct, scale, halfLifeDays, window } = weighting;
  const [first, end, axis] = [-window, END, 0].map((value) => graph.constant(int64([1], value)));
  const inWindow = (value: string) => graph.op("Slice", [value, first!, end!, axis!]);
  const items = inWindow(inputs.items);
  // Position 0 is the newest entry, which stands last.
  const count = graph.op("Reshape", [graph.op("Shape", [items]), graph.constant(int64([0]))]);
  const ascending = graph.op("Range", [graph.constant(scalar(0)), count, graph.constant(scalar(1))]);
  const positions = graph.op("Sub", [graph.op("Sub", [count, graph.constant(scalar(1))]), ascending]);

  const asFloat = (value: string) => graph.op("Cast", [value], { to: { int: FLOAT } });
  const exponential = (of: string, rate: number) =>
    graph.op("Exp", [graph.op("Mul", [of, graph.constant(float32(rate))])]);
  const factors = [exponential(asFloat(positions), Number.isFinite(scale) ? -1 / scale : 0)];
  if (Number.isFinite(halfLifeDays)) factors.push(exponential(inWindow(inputs.ages()), -Math.LN2 / halfLifeDays));
  if (distinct) factors.push(asFloat(isNewestOfItsItem(graph, items, positions)));
  return { items, weights: factors.reduce((product, factor) => graph.op("Mul", [product, factor])) };
}

/** bool [L]: no newer entry has the same item. */
function isNewestOfItsItem(graph: GraphBuilder, items: string, positions: string): string {
  const asRow = graph.constant(int64([1], 0));
  const asColumn = graph.constant(int64([1], 1));
  const across = (type: string, value: string) =>
    graph.op(type, [graph.op("Unsqueeze", [value, asColumn]), graph.op("Unsqueeze", [value, asRow])]);
  const isRepeat = graph.op("And", [across("Equal", items), across("Greater", positions)]);
  const repeats = graph.op("ReduceMax", [graph.op("Cast", [isRepeat], { to: { int: INT32 } }), asColumn], {
    keepdims: { int: 0 },
  });
  return graph.op("Equal", [repeats, graph.constant(int32(0))]);
}

type ExternalFile = (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) => string;

/** float32 [columnCount]: the weighted sum of the history's rows. */
function termScores(graph: GraphBuilder, inputs: WeighedHistory, matrix: EncodedMatrix, file: ExternalFile): string {
  if (matrix.kind === "sparse") return sparseScores(graph, inputs, matrix, file);
  const flat = graph.constant(int64([1], -1));
  if (matrix.kind === "dense") return graph.op("Reshape", [weightedRows(graph, inputs, matrix, file), flat]);
  const { left, right } = matrix;
  const profile = weightedRows(graph, inputs, left, (name, ...rest) => file(`left_${name}`, ...rest));
  const scales = right.rowScales && file("right_scales", "float32", [right.rowCount], right.rowScales);
  const values = file("right_rows", right.valueType, [right.rowCount, right.columnCount], right.values);
  const scaled = scales ? graph.op("Mul", [profile, scales]) : profile;
  return graph.op("Reshape", [graph.op("MatMul", [scaled, expanded(graph, values, right.valueType)]), flat]);
}

/** float32 [L]: what each history entry's row is multiplied by. */
function rowFactors(
  graph: GraphBuilder,
  inputs: WeighedHistory,
  matrix: EncodedDense | EncodedSparse,
  file: ExternalFile,
) {
  if (!matrix.rowScales) return inputs.weights;
  const scales = file("scales", "float32", [matrix.rowCount], matrix.rowScales);
  return graph.op("Mul", [inputs.weights, gather(graph, scales, inputs.items)]);
}

/** float32 [1, columnCount] */
function weightedRows(graph: GraphBuilder, inputs: WeighedHistory, matrix: EncodedDense, file: ExternalFile): string {
  const values = file("rows", matrix.valueType, [matrix.rowCount, matrix.columnCount], matrix.values);
  const rows = expanded(graph, gather(graph, values, inputs.items), matrix.valueType);
  const factors = rowFactors(graph, inputs, matrix, file);
  return graph.op("MatMul", [graph.op("Unsqueeze", [factors, graph.constant(int64([1], 0))]), rows]);
}

/** float32 [columnCount]. Row r is start[r] … start[r + 1] − 1 of columns and values. */
function sparseScores(graph: GraphBuilder, inputs: WeighedHistory, matrix: EncodedSparse, file: ExternalFile): string {
  const { rowCount, columnCount } = matrix;
  const starts = file("start", "int32", [rowCount + 1], matrix.start);
  const one = graph.constant(int32(1));
  const from = gather(graph, starts, inputs.items);
  const length = graph.op("Sub", [gather(graph, starts, graph.op("Add", [inputs.items, one])), from]);

  // The grid [L, longest of these rows]; past its end a row points at the entry of weight 0.
  const longest = graph.op("ReduceMax", [length], { keepdims: { int: 0 } });
  const offsets = graph.op("Range", [graph.constant(int32(0)), longest, one]);
  const asColumn = graph.constant(int64([1], 1));
  const inRow = graph.op("Less", [offsets, graph.op("Unsqueeze", [length, asColumn])]);
  const entry = graph.op("Add", [offsets, graph.op("Unsqueeze", [from, asColumn])]);
  const at = graph.op("Where", [inRow, entry, graph.constant(int32(matrix.values.length - 1))]);

  const size = [matrix.values.length];
  const columns = gather(graph, file("columns", matrix.columnType, size, matrix.columns), at);
  const columns32 = matrix.columnType === "int32" ? columns : graph.op("Cast", [columns], { to: { int: INT32 } });
  const stored = gather(graph, file("values", matrix.valueType, size, matrix.values), at);
  const factors = graph.op("Unsqueeze", [rowFactors(graph, inputs, matrix, file), asColumn]);
  const weighted = graph.op("Mul", [expanded(graph, stored, matrix.valueType), factors]);
  const flat = graph.constant(int64([1], -1));
  const zeros = graph.op("ConstantOfShape", [graph.constant(int64([1], columnCount))]);
  // ScatterElements, not ScatterND: the latter loses sums on several threads when indices repeat.
  return graph.op(
    "ScatterElements",
    [zeros, graph.op("Reshape", [columns32, flat]), graph.op("Reshape", [weighted, flat])],
    { axis: { int: 0 }, reduction: { text: "add" } },
  );
}

const gather = (graph: GraphBuilder, from: string, at: string) => graph.op("Gather", [from, at], { axis: { int: 0 } });

/** float32 of stored values; int8 code c stands for c·|c|, to be multiplied by the row's scale. */
function expanded(graph: GraphBuilder, values: string, type: DataType): string {
  if (type === "float32") return values;
  const codes = graph.op("Cast", [values], { to: { int: FLOAT } });
  return graph.op("Mul", [codes, graph.op("Abs", [codes])]);
}

const FLOAT = 1;
const INT32 = 6;
/** Behind every end. */
const END = 2 ** 31 - 1;
const int64 = (dims: readonly number[], ...values: number[]): TensorValue => ({
  type: "int64",
  dims,
  data: BigInt64Array.from(values, BigInt),
});
const int32 = (value: number): TensorValue => ({ type: "int32", dims: [], data: Int32Array.of(value) });
const scalar = (value: number): TensorValue => ({ type: "int64", dims: [], data: BigInt64Array.of(BigInt(value)) });
const float32 = (value: number): TensorValue => ({ type: "float32", dims: [], data: Float32Array.of(value) });
