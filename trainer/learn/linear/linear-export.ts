import { HALVINGS_MAX } from "../../../shared/rank/history-weights.ts";
import type { FittedModel, GraphPart, Params, PartBudget } from "../model.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { cast, float32, gather, int32, int64 } from "../numerics/onnx/graph-shorthand.ts";
import type { DataType } from "../numerics/onnx/proto.ts";
import { exportScores, type FileBox, fileBox } from "../scoring/scoring-graph.ts";
import { serveBytes } from "../weights/byte-matrix.ts";
import type { EncodedDense } from "../weights/dense-encoding.ts";
import type { EncodedFactors } from "../weights/factor-encoding.ts";
import { hopScores } from "../weights/hop-scores.ts";
import type { EncodedHops } from "../weights/hop-weights.ts";
import { addSparseScores, type ExternalFile, type WeighedHistory } from "../weights/sparse-scores.ts";
import { codedBytes, type EncodedBias, encodeWithin, leastBytes, type WeightPart } from "../weights/weight-encoding.ts";
import type { HistoryWeighting, LinearModel, LinearTerm } from "./linear-model.ts";
import { linearRecipe } from "./linear-recipe.ts";

export type FittedLinear = FittedModel & { readonly linear: LinearModel };

/** A fitted model that exports `linear`. */
export function fittedLinear(method: string, params: Params, linear: LinearModel): FittedLinear {
  const append = (graph: GraphBuilder, items: string, budget: PartBudget) => appendLinear(graph, items, linear, budget);
  return {
    method,
    params,
    linear,
    itemCount: linear.itemCount,
    historyMax: Math.max(1, ...linear.terms.map((term) => term.weighting.window)),
    append,
    bytesCoded: () => codedBytes(unweighedParts(linear), linear.bias),
    bytesLeast: () => leastLinearBytes(linear),
    export: exportScores(method, linear.itemCount, append),
  };
}

/** Adds a linear model's nodes to a graph. */
function appendLinear(graph: GraphBuilder, items: string, model: LinearModel, budget: PartBudget): GraphPart {
  const { itemCount, terms } = model;
  const parts = terms.map((term) => ({ matrix: term.matrix, rowFactors: rowFactorsOf(model, term) }));
  const encoding = encodeWithin(parts, model.bias, budget.weightBytesMax);
  const { matrices, stacked, bias, truncation } = encoding;
  const box = fileBox(graph, budget.prefix);
  const { external, files } = box;
  const historyOf = weighedHistories(graph, items);

  const dense: string[] = [];
  const sparse: WeighedHistory[] = [];
  for (const [i, matrix] of matrices.entries()) {
    const history = historyOf(terms[i]!);
    if (matrix.kind === "stacked") sparse.push(inRowsFrom(graph, history, matrix.firstRow));
    else dense.push(termScores(graph, history, matrix, within(box, `term${i}_`)));
  }
  const base = bias ? biasScores(graph, bias, external) : stacked || dense.length === 0 ? zeros(graph, itemCount) : "";
  const begin = stacked
    ? addSparseScores(graph, base, concatenated(graph, sparse), { matrix: stacked, file: external })
    : base;
  const scores = [begin, ...dense].filter(Boolean).reduce((sum, part) => graph.op("Add", [sum, part]));
  return { scores, weights: files, truncation, recipe: linearRecipe(terms, encoding, box) };
}

/** Bytes of the smallest files that `appendLinear` writes; it cannot keep to a smaller budget. */
export const leastLinearBytes = (linear: LinearModel): number => leastBytes(unweighedParts(linear), linear.bias);

/** Sizes do not depend on how much rows count. */
const unweighedParts = ({ terms }: LinearModel): WeightPart[] =>
  terms.map(({ matrix }) => ({ matrix, rowFactors: undefined }));

/** A weight's importance grows as its row's number of uses to this power. Tuned on four data sets. */
const USE_EXPONENT = 0.3;
/** Entries of a typical history. */
const TYPICAL_LENGTH = 10;

/** Importance of each row when not all weights fit the budget. Float32Array(itemCount) */
function rowFactorsOf({ uses, itemCount }: LinearModel, { weighting }: LinearTerm): Float32Array {
  const { scale, window } = weighting;
  let reach = 0; // sum of squared position weights, because squared errors add up
  for (let position = 0; position < Math.min(window, TYPICAL_LENGTH); position++)
    reach += Math.exp((-2 * position) / scale);
  return Float32Array.from(
    { length: itemCount },
    (_, item) => (reach * Math.max(1, uses?.[item] ?? 1)) ** USE_EXPONENT,
  );
}

/** The history of a term whose matrix begins at row `firstRow` of the stacked matrix. */
const inRowsFrom = (graph: GraphBuilder, { items, weights }: WeighedHistory, firstRow: number): WeighedHistory => ({
  items: firstRow > 0 ? graph.op("Add", [items, graph.constant(int32([], firstRow))]) : items,
  weights,
});

/** The histories of all terms as one list of rows and weights. */
function concatenated(graph: GraphBuilder, histories: readonly WeighedHistory[]): WeighedHistory {
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
  // The runtime computes Cast and Mul of weights when it opens a graph, and then keeps four bytes an item.
  return graph.op("DequantizeLinear", [codes, graph.constant(float32([], scale))]);
}

/** Returns a function that gives a term's weighted history; terms of equal weighting share their nodes. */
function weighedHistories(graph: GraphBuilder, items: string) {
  const made = new Map<string, WeighedHistory>();
  return ({ weighting }: LinearTerm): WeighedHistory => {
    const { distinct, scale, window, halfLifeDays } = weighting;
    const key = [distinct, scale, window, halfLifeDays].join();
    const weighed = made.get(key) ?? weighedHistory(graph, items, weighting);
    made.set(key, weighed);
    return weighed;
  };
}

function weighedHistory(graph: GraphBuilder, all: string, weighting: HistoryWeighting): WeighedHistory {
  const { distinct, scale, window, halfLifeDays } = weighting;
  const [first, end, axis] = [-window, TO_LAST, 0].map((value) => graph.constant(int64([1], value)));
  const newest = (value: string) => graph.op("Slice", [value, first!, end!, axis!]);
  const items = newest(all);
  // Position 0 is the newest entry, which stands last.
  const count = graph.op("Reshape", [graph.op("Shape", [items]), graph.constant(int64([0]))]);
  const ascending = graph.op("Range", [graph.constant(int64([], 0)), count, graph.constant(int64([], 1))]);
  const positions = graph.op("Sub", [graph.op("Sub", [count, graph.constant(int64([], 1))]), ascending]);

  const asFloat = (value: string) => cast(graph, value, "float32");
  const places = asFloat(positions);
  const rate = graph.constant(float32([], Number.isFinite(scale) ? -1 / scale : 0));
  const byPosition = graph.op("Exp", [graph.op("Mul", [places, rate])]);
  const recency = halfLifeDays === undefined ? byPosition : graph.op("Mul", [byPosition, byAge()]);
  if (!distinct) return { items, weights: recency };
  const isNewest = asFloat(isNewestOfItem(graph, items, positions));
  return { items, weights: graph.op("Mul", [recency, isNewest]) };

  function byAge(): string {
    const ages = newest(graph.input("ages_days", "float32", ["L"]));
    const logs = graph.op("Mul", [ages, graph.constant(float32([], -Math.LN2 / halfLifeDays!))]);
    return graph.op("Exp", [graph.op("Max", [logs, graph.constant(float32([], -HALVINGS_MAX * Math.LN2))])]);
  }
}

/** bool [L]: no newer entry has the same item. */
function isNewestOfItem(graph: GraphBuilder, items: string, positions: string): string {
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

/** The same box for files whose names begin with `prefix`. */
const within = ({ external, pathOf, files }: FileBox, prefix: string): FileBox => ({
  files,
  external: (name, ...rest) => external(`${prefix}${name}`, ...rest),
  pathOf: (name) => pathOf(`${prefix}${name}`),
});

/** float32 [columnCount]: the weighted sum of the history's rows. */
function termScores(
  graph: GraphBuilder,
  history: WeighedHistory,
  matrix: EncodedDense | EncodedFactors | EncodedHops,
  box: FileBox,
): string {
  const file = box.external;
  if (matrix.kind === "hops") return hopScores(graph, history, matrix, file);
  const flat = (row: string) => graph.op("Reshape", [row, graph.constant(int64([1], -1))]);
  if (matrix.kind === "dense") return flat(weightedRows(graph, history, matrix, file));
  const { left, right } = matrix;
  const profile = weightedRows(graph, history, left, within(box, "left_").external);
  if (right.kind === "bytes") return serveBytes(graph, right, within(box, "right_")).scoresOf(profile);
  const values = file("right_rows", "float32", [right.rowCount, right.columnCount], right.values);
  return flat(graph.op("MatMul", [profile, values]));
}

/** float32 [L]: factor of each history entry's row, its weight times the row's scale. */
function rowFactors(graph: GraphBuilder, history: WeighedHistory, matrix: EncodedDense, file: ExternalFile) {
  if (!matrix.rowScales) return history.weights;
  const scales = file("scales", "float32", [matrix.rowCount], matrix.rowScales);
  return graph.op("Mul", [history.weights, gather(graph, scales, history.items)]);
}

/** float32 [1, columnCount] */
function weightedRows(graph: GraphBuilder, history: WeighedHistory, matrix: EncodedDense, file: ExternalFile): string {
  const values = file("rows", matrix.valueType, [matrix.rowCount, matrix.columnCount], matrix.values);
  const rows = expanded(graph, gather(graph, values, history.items), matrix.valueType);
  const factors = rowFactors(graph, history, matrix, file);
  return graph.op("MatMul", [graph.op("Unsqueeze", [factors, graph.constant(int64([1], 0))]), rows]);
}

/** Stored values as float32. An int8 code c stands for c·|c|, to be multiplied by the row's scale. */
function expanded(graph: GraphBuilder, values: string, type: DataType): string {
  if (type === "float32") return values;
  const codes = cast(graph, values, "float32");
  return graph.op("Mul", [codes, graph.op("Abs", [codes])]);
}

/** As the end of a slice: everything up to the last element. */
const TO_LAST = 2 ** 31 - 1;
