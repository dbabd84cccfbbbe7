import type { History } from "../../../shared/snapshot.ts";
import type { AppendScores, FittedModel, GraphPart, Params } from "../model.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { integers, scalar, sumOver } from "../numerics/onnx/graph-shorthand.ts";
import { exportScores } from "./scoring-graph.ts";

/** A fitted model and the weight of its scores in a blend's sum. */
export type BlendPart = { readonly model: FittedModel; readonly weight: number };

export type FittedBlend = FittedModel & { readonly parts: readonly BlendPart[] };

/**
 * The weighted sum of several models' scores: Σ weight · scores / spread(scores). The spread is the standard deviation over the
 * catalog, computed for each history, because the scores of different models are not on the same scale.
 */
export function blend(method: string, params: Params, parts: readonly BlendPart[]): FittedBlend {
  const { itemCount } = parts[0]!.model;
  const append = appendBlend(parts);
  return {
    method,
    params,
    parts,
    itemCount,
    historyMax: Math.max(...parts.map(({ model }) => model.historyMax)),
    append,
    bytesCoded: () => codedBytesOf(parts),
    bytesLeast: () => leastBytesOf(parts),
    export: exportScores(method, itemCount, append),
  };
}

/** Deviations below this fraction of the largest absolute score are rounding errors: the model scores all items alike. */
const SPREAD_FRACTION_MIN = 1e-5;
const SPREAD_MIN = 1e-20;

/** Standard deviation of the scores over the catalog, or a small floor if the model scores all items alike. */
export function spreadOf(scores: Float32Array): number {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const deviation = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length);
  const largest = scores.reduce((most, score) => Math.max(most, Math.abs(score)), 0);
  return Math.max(deviation, SPREAD_FRACTION_MIN * largest, SPREAD_MIN);
}

/** Numbers that are added up one after another. */
const ADDED_AT_ONCE = 512;

/** Graph nodes for `spreadOf`. */
function spreadNode(graph: GraphBuilder, scores: string, itemCount: number): string {
  const centred = graph.op("Sub", [scores, meanNode(graph, scores, itemCount)]);
  const variance = meanNode(graph, graph.op("Mul", [centred, centred]), itemCount);
  const largest = graph.op("ReduceMax", [graph.op("Abs", [scores])], { keepdims: { int: 0 } });
  const rounding = graph.op("Mul", [largest, scalar(graph, SPREAD_FRACTION_MIN)]);
  return graph.op("Max", [graph.op("Sqrt", [variance]), rounding, scalar(graph, SPREAD_MIN)]);
}

/**
 * The mean by sums of sums. With one sum in float32, the deviation of mostly equal scores of a million items is wrong by up to .13 % in
 * onnxruntime-web, and by .07 % in onnxruntime-node: an edge would refuse the version, whose golden scores differ.
 */
function meanNode(graph: GraphBuilder, values: string, itemCount: number): string {
  if (itemCount <= ADDED_AT_ONCE) return graph.op("ReduceMean", [values], { keepdims: { int: 0 } });
  const whole = itemCount - (itemCount % ADDED_AT_ONCE);
  const part = (begin: number, end: number) =>
    graph.op("Slice", [values, integers(graph, begin), integers(graph, end), integers(graph, 0)]);
  const blocks = graph.op("Reshape", [part(0, whole), integers(graph, -1, ADDED_AT_ONCE)]);
  const sum = sumOver(graph, sumOver(graph, blocks, 1), 0);
  const all = whole === itemCount ? sum : graph.op("Add", [sum, sumOver(graph, part(whole, itemCount), 0)]);
  return graph.op("Mul", [all, scalar(graph, 1 / itemCount)]);
}

/** The newest entries of a history. */
export const newest = ({ items, agesDays }: History, count: number): History => ({
  items: items.slice(-count),
  agesDays: agesDays.slice(-count),
});

function appendBlend(parts: readonly BlendPart[]): AppendScores {
  return (graph, items, budget) => {
    let bytesLeft = budget.weightBytesMax;
    const files: { readonly path: string; readonly bytes: Uint8Array }[] = [];
    const truncations: string[] = [];
    const recipes: PartRecipe[] = [];
    // The part with the largest weight comes first; bytes that it does not use go to the others.
    const byWeight = parts.toSorted((a, b) => b.weight - a.weight);
    const terms = byWeight.map(({ model, weight }, i) => {
      const weightBytesMax = bytesOfFirst(byWeight.slice(i), bytesLeft);
      const part = model.append(graph, items, { weightBytesMax, prefix: `${budget.prefix}part${i}_` });
      for (const file of part.weights) bytesLeft -= file.bytes.length;
      files.push(...part.weights);
      if (part.truncation) truncations.push(`${model.method}: ${part.truncation}`);
      recipes.push({ weight, recipe: part.recipe });
      const spread = spreadNode(graph, part.scores, model.itemCount);
      return graph.op("Mul", [part.scores, graph.op("Div", [scalar(graph, weight), spread])]);
    });
    const scores = terms.reduce((sum, term) => graph.op("Add", [sum, term]));
    return { scores, weights: files, truncation: truncations.join("; "), recipe: blendRecipe(recipes) };
  };
}

type PartRecipe = { readonly weight: number; readonly recipe: GraphPart["recipe"] };

/** Undefined unless every part has a recipe. */
function blendRecipe(parts: readonly PartRecipe[]): GraphPart["recipe"] {
  const known = parts.flatMap(({ weight, recipe }) => (recipe ? [{ weight, part: recipe.recipe }] : []));
  if (known.length < parts.length) return undefined;
  const arrays = Object.assign({}, ...parts.map(({ recipe }) => recipe!.arrays));
  return { recipe: { kind: "blend", parts: known }, arrays };
}

const leastBytesOf = (parts: readonly BlendPart[]): number =>
  parts.reduce((sum, { model }) => sum + (model.bytesLeast?.() ?? 0), 0);

const codedBytesOf = (parts: readonly BlendPart[]): number =>
  parts.reduce((sum, { model }) => sum + model.bytesCoded(), 0);

/**
 * Byte budget of the first part. If all parts fit in codes, it is what the codes of the others leave, so that no part has exact weights
 * while another must leave weights out. Else it is proportional to the part's weight, but the others keep their smallest sizes.
 */
function bytesOfFirst(parts: readonly BlendPart[], bytesLeft: number): number {
  const others = parts.slice(1);
  const besideCodes = bytesLeft - codedBytesOf(others);
  if (parts[0]!.model.bytesCoded() <= besideCodes) return besideCodes;
  return Math.min(proportionalBytes(parts, bytesLeft), bytesLeft - leastBytesOf(others));
}

/**
 * The bytes that the first part needs in codes, or its proportional quota if that is less. Parts that need less than their quota get what
 * they need, and the rest is divided again among the others.
 */
function proportionalBytes(parts: readonly BlendPart[], bytes: number): number {
  let bytesLeft = bytes;
  let open = parts.map(({ model, weight }) => ({ model, weight, needed: model.bytesCoded() }));
  const first = open[0]!;
  for (;;) {
    const total = open.reduce((sum, { weight }) => sum + weight, 0);
    const quota = (weight: number) => Math.floor((bytesLeft * weight) / total);
    const satisfied = open.filter(({ weight, needed }) => needed <= quota(weight));
    if (satisfied.includes(first)) return first.needed;
    if (satisfied.length === 0) return quota(first.weight);
    bytesLeft -= satisfied.reduce((sum, { needed }) => sum + needed, 0);
    open = open.filter((part) => !satisfied.includes(part));
  }
}
