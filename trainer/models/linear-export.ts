import { type GraphBuilder, graphBuilder, type TensorValue } from "../onnx/graph.ts";
import type { DataType } from "../onnx/proto.ts";
import type { HistoryWeighting, LinearModel, LinearTerm } from "./linear-model.ts";
import type { ExportedModel, ServingBudget } from "./model.ts";
import { type EncodedMatrix, encodeWithin } from "./weight-encoding.ts";

/** The names of the graph's inputs; `ages` is asked for only when a part needs it. */
export type HistoryInputs = { readonly items: string; readonly ages: () => string };

/** A part of a scoring graph: its output [itemCount], the files it names and what it left out. */
export type GraphPart = {
  readonly scores: string;
  readonly weights: ExportedModel["weights"];
  readonly truncation: string;
};

/** The scoring graph of a linear model. */
export function exportLinear(model: LinearModel, budget: ServingBudget): ExportedModel {
  const graph = graphBuilder("linear");
  const part = appendLinear(graph, historyInputs(graph), model, { ...budget, prefix: "" });
  graph.output("scores", part.scores, "float32", [model.itemCount]);
  return { graph: graph.build(), weights: part.weights, truncation: part.truncation };
}

/** Declares `items` at once and `ages_days` when first asked for. */
export function historyInputs(graph: GraphBuilder): HistoryInputs {
  const items = graph.input("items", "int32", ["L"]);
  let ages: string | undefined;
  return {
    items,
    ages: () => {
      ages ??= graph.input("ages_days", "float32", ["L"]);
      return ages;
    },
  };
}

/** Adds the model's nodes to a graph. `prefix` keeps the file names of several parts apart. */
export function appendLinear(
  graph: GraphBuilder,
  inputs: HistoryInputs,
  model: LinearModel,
  budget: ServingBudget & { readonly prefix: string },
): GraphPart {
  const { itemCount, terms, bias } = model;
  const biasBytes = bias ? 4 * itemCount : 0;
  const matrices = terms.map((term) => term.matrix);
  const encoded = encodeWithin(matrices, Math.max(0, budget.weightBytesMax - biasBytes));
  const files: { path: string; bytes: Uint8Array }[] = [];
  const external = (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) => {
    const path = `${budget.prefix}${name}.bin`;
    files.push({ path, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) });
    return graph.external(path, type, dims);
  };

  const weightsOf = sharedWeights(graph, inputs, terms);
  const parts = terms.map((term, i) => {
    const file = (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) =>
      external(`term${i}_${name}`, type, dims, data);
    return termScores(graph, { items: inputs.items, weights: weightsOf(term), matrix: encoded.matrices[i]! }, file);
  });
  if (bias || parts.length === 0) {
    parts.push(external("bias", "float32", [itemCount], bias ?? new Float32Array(itemCount)));
  }
  const scores = parts.reduce((sum, part) => graph.op("Add", [sum, part]));
  return { scores, weights: files, truncation: encoded.truncation };
}

/** Gives a term's history weights [L]; terms of equal weighting share their nodes. */
function sharedWeights(graph: GraphBuilder, inputs: HistoryInputs, terms: readonly LinearTerm[]) {
  if (terms.length === 0) return () => "";
  const length = graph.op("Shape", [inputs.items]);
  const count = graph.op("Reshape", [length, graph.constant(int64([]))]);
  const ascending = graph.op("Range", [graph.constant(scalar(0)), count, graph.constant(scalar(1))]);
  // Position 0 is the newest entry, which stands last.
  const positions = graph.op("Sub", [graph.op("Sub", [count, graph.constant(scalar(1))]), ascending]);
  const made = new Map<string, string>();
  return ({ weighting }: LinearTerm) => {
    const { distinct, scale, halfLifeDays, window } = weighting;
    const key = [distinct, scale, halfLifeDays, window].join();
    const name = made.get(key) ?? historyWeightNodes(graph, inputs, positions, weighting);
    made.set(key, name);
    return name;
  };
}

function historyWeightNodes(
  graph: GraphBuilder,
  inputs: HistoryInputs,
  positions: string,
  { distinct, scale, halfLifeDays, window }: HistoryWeighting,
): string {
  const steps = graph.op("Cast", [positions], { to: { int: FLOAT } });
  const counts = graph.op("Less", [positions, graph.constant(scalar(window))]);
  let weights = graph.op("Cast", [counts], { to: { int: FLOAT } });
  const times = (factor: string) => {
    weights = graph.op("Mul", [weights, factor]);
  };
  const exponential = (of: string, rate: number) =>
    graph.op("Exp", [graph.op("Mul", [of, graph.constant(floats([], rate))])]);
  if (Number.isFinite(scale)) times(exponential(steps, -1 / scale));
  if (Number.isFinite(halfLifeDays)) times(exponential(inputs.ages(), -Math.LN2 / halfLifeDays));
  if (distinct) times(graph.op("Cast", [isNewestOfItsItem(graph, inputs.items, positions)], { to: { int: FLOAT } }));
  return weights;
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
  return graph.op("Equal", [repeats, graph.constant({ type: "int32", dims: [], data: Int32Array.of(0) })]);
}

type TermInputs = { readonly items: string; readonly weights: string; readonly matrix: EncodedMatrix };
type ExternalFile = (name: string, type: DataType, dims: readonly number[], data: ArrayBufferView) => string;

/** float32 [columnCount]: the weighted sum of the history's rows. */
function termScores(graph: GraphBuilder, { items, weights, matrix }: TermInputs, file: ExternalFile): string {
  const gather = (from: string, at: string) => graph.op("Gather", [from, at], { axis: { int: 0 } });
  const { rowCount, columnCount } = matrix;
  const rowFactors = matrix.rowScales
    ? graph.op("Mul", [weights, gather(file("scales", "float32", [rowCount], matrix.rowScales), items)])
    : weights;
  const flat = graph.constant(int64([1], -1));
  if (matrix.kind === "dense") {
    const values = file("rows", matrix.valueType, [rowCount, columnCount], matrix.values);
    const rows = expanded(graph, gather(values, items), matrix.valueType);
    const asRow = graph.op("Unsqueeze", [rowFactors, graph.constant(int64([1], 0))]);
    return graph.op("Reshape", [graph.op("MatMul", [asRow, rows]), flat]);
  }

  // Row r is start[r] … start[r + 1]; the grid [L, longest of these rows] points past its end at an entry of weight 0.
  const starts = file("start", "int32", [rowCount + 1], matrix.start);
  const one32 = graph.constant({ type: "int32", dims: [], data: Int32Array.of(1) });
  const from = gather(starts, items);
  const length = graph.op("Sub", [gather(starts, graph.op("Add", [items, one32])), from]);
  const longest = graph.op("ReduceMax", [length], { keepdims: { int: 0 } });
  const zero32 = graph.constant({ type: "int32", dims: [], data: Int32Array.of(0) });
  const offsets = graph.op("Range", [zero32, longest, one32]);
  const asColumn = graph.constant(int64([1], 1));
  const inRow = graph.op("Less", [offsets, graph.op("Unsqueeze", [length, asColumn])]);
  const entry = graph.op("Add", [offsets, graph.op("Unsqueeze", [from, asColumn])]);
  const nothing = graph.constant({ type: "int32", dims: [], data: Int32Array.of(matrix.values.length - 1) });
  const at = graph.op("Where", [inRow, entry, nothing]);

  const size = [matrix.values.length];
  const columns = gather(file("columns", matrix.columnType, size, matrix.columns), at);
  const columns32 = matrix.columnType === "int32" ? columns : graph.op("Cast", [columns], { to: { int: INT32 } });
  const values = expanded(graph, gather(file("values", matrix.valueType, size, matrix.values), at), matrix.valueType);
  const weighted = graph.op("Mul", [values, graph.op("Unsqueeze", [rowFactors, asColumn])]);
  const zeros = graph.op("ConstantOfShape", [graph.constant(int64([1], columnCount))]);
  // ScatterElements, not ScatterND: the latter loses sums on several threads when indices repeat.
  return graph.op(
    "ScatterElements",
    [zeros, graph.op("Reshape", [columns32, flat]), graph.op("Reshape", [weighted, flat])],
    { axis: { int: 0 }, reduction: { text: "add" } },
  );
}

/** float32 of stored values; int8 code c stands for c·|c|, to be multiplied by the row's scale. */
function expanded(graph: GraphBuilder, values: string, type: DataType): string {
  if (type === "float32") return values;
  const codes = graph.op("Cast", [values], { to: { int: FLOAT } });
  return graph.op("Mul", [codes, graph.op("Abs", [codes])]);
}

const FLOAT = 1;
const INT32 = 6;
const int64 = (dims: readonly number[], ...values: number[]): TensorValue => ({
  type: "int64",
  dims: dims.length ? [values.length] : dims.length === 0 && values.length === 0 ? [0] : dims,
  data: BigInt64Array.from(values, BigInt),
});
const scalar = (value: number): TensorValue => ({ type: "int64", dims: [], data: BigInt64Array.of(BigInt(value)) });
const floats = (dims: readonly number[], ...values: number[]): TensorValue => ({
  type: "float32",
  dims,
  data: Float32Array.from(values),
});
