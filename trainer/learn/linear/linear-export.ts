import { cast } from "../numerics/autodiff/graph-shorthand.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import type { DataType } from "../numerics/onnx/proto.ts";
import { fileBox, type GraphPart, type HistoryInputs, type PartBudget } from "../scoring/scoring-graph.ts";
import { float32, gather, int32, int64 } from "../scoring/tensor-values.ts";
import { addSparseScores, type ExternalFile, type WeighedHistory } from "../weights/sparse-scores.ts";
import {
  type EncodedBias,
  type EncodedDense,
  type EncodedFactors,
  encodeWithin,
  leastBytes,
} from "../weights/weight-encoding.ts";
import type { HistoryWeighting, LinearModel, LinearTerm } from "./linear-model.ts";

/** Adds a linear model's nodes to a graph. */
export function appendLinear(
  graph: GraphBuilder,
  inputs: HistoryInputs,
  model: LinearModel,
  budget: PartBudget,
): GraphPart {
  const { itemCount, terms } = model;
  const parts = terms.map((term) => ({ matrix: term.matrix, rowFactors: rowFactorsOf(model, term) }));
  const { matrices, stacked, bias, truncation } = encodeWithin(parts, model.bias, budget.weightBytesMax);
  const { external, files } = fileBox(graph, budget.prefix);
  const historyOf = weighedHistories(graph, inputs);

  const dense: string[] = [];
  const sparse: WeighedHistory[] = [];
  for (const [i, matrix] of matrices.entries()) {
    const history = historyOf(terms[i]!);
    if (matrix.kind === "stacked") sparse.push(inRowsFrom(graph, history, matrix.firstRow));
    else dense.push(termScores(graph, history, matrix, (name, ...rest) => external(`term${i}_${name}`, ...rest)));
  }
  const base = bias ? biasScores(graph, bias, external) : stacked || dense.length === 0 ? zeros(graph, itemCount) : "";
  const begin = stacked
    ? addSparseScores(graph, base, endToEnd(graph, sparse), { matrix: stacked, file: external })
    : base;
  const scores = [begin, ...dense].filter(Boolean).reduce((sum, part) => graph.op("Add", [sum, part]));
  return { scores, weights: files, truncation };
}

/** Bytes of the files below which no budget is kept. */
export const leastLinearBytes = ({ terms, bias }: LinearModel): number =>
  leastBytes(
    terms.map(({ matrix }) => ({ matrix, rowFactors: undefined })),
    bias,
  );

/** Weights of rows that histories seldom reach count less: by this power of how often. Measured on four data sets. */
const USE_EXPONENT = 0.3;
/** A usual history, in entries. */
const USUAL_LENGTH = 10;

/** How much a weight counts where some must go. Float32Array(itemCount) */
function rowFactorsOf({ uses, itemCount }: LinearModel, { weighting }: LinearTerm): Float32Array {
  const { scale, window } = weighting;
  let reach = 0; // of the squares, as errors add up
  for (let position = 0; position < Math.min(window, USUAL_LENGTH); position++)
    reach += Math.exp((-2 * position) / scale);
  return Float32Array.from(
    { length: itemCount },
    (_, item) => (reach * Math.max(1, uses?.[item] ?? 1)) ** USE_EXPONENT,
  );
}

/** The history of a term whose matrix begins at that row of the stack. */
const inRowsFrom = (graph: GraphBuilder, { items, weights }: WeighedHistory, firstRow: number): WeighedHistory => ({
  items: firstRow > 0 ? graph.op("Add", [items, graph.constant(int32([], firstRow))]) : items,
  weights,
});

function endToEnd(graph: GraphBuilder, histories: readonly WeighedHistory[]): WeighedHistory {
  if (histories.length === 1) return histories[0]!;
  const joined = (values: readonly string[]) => graph.op("Concat", values, { axis: { int: 0 } });
  return {
    items: joined(histories.map(({ items }) => items)),
    weights: joined(histories.map(({ weights }) => weights)),
  };
}

const zeros = (graph: GraphBuilder, count: number) => graph.op("ConstantOfShape", [graph.constant(int64([1], count))]);

/** float32 [itemCount] */
function biasScores(graph: GraphBuilder, { values, scale }: EncodedBias, file: ExternalFile): string {
  if (scale === undefined) return file("bias", "float32", [values.length], values);
  const codes = file("bias", "int8", [values.length], values);
  return graph.op("Mul", [cast(graph, codes, "float32"), graph.constant(float32([], scale))]);
}

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
  const ascending = graph.op("Range", [graph.constant(int64([], 0)), count, graph.constant(int64([], 1))]);
  const positions = graph.op("Sub", [graph.op("Sub", [count, graph.constant(int64([], 1))]), ascending]);

  const asFloat = (value: string) => cast(graph, value, "float32");
  const exponential = (of: string, rate: number) =>
    graph.op("Exp", [graph.op("Mul", [of, graph.constant(float32([], rate))])]);
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
  const repeats = graph.op("ReduceMax", [cast(graph, isRepeat, "int32"), asColumn], {
    keepdims: { int: 0 },
  });
  return graph.op("Equal", [repeats, graph.constant(int32([], 0))]);
}

/** float32 [columnCount]: the weighted sum of the history's rows. */
function termScores(
  graph: GraphBuilder,
  inputs: WeighedHistory,
  matrix: EncodedDense | EncodedFactors,
  file: ExternalFile,
): string {
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
function rowFactors(graph: GraphBuilder, inputs: WeighedHistory, matrix: EncodedDense, file: ExternalFile) {
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

/** float32 of stored values; int8 code c stands for c·|c|, to be multiplied by the row's scale. */
function expanded(graph: GraphBuilder, values: string, type: DataType): string {
  if (type === "float32") return values;
  const codes = cast(graph, values, "float32");
  return graph.op("Mul", [codes, graph.op("Abs", [codes])]);
}

/** Behind every end. */
const END = 2 ** 31 - 1;
