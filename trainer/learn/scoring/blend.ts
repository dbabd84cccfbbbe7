import type { ItemIndex } from "../../../shared/ids.ts";
import type { History } from "../../../shared/snapshot.ts";
import type { FitContext, Method, Params, TrainingData } from "../model.ts";
import { graphBuilder, type TensorValue } from "../numerics/onnx/graph.ts";
import { type AppendScores, type BlendableModel, exportScores } from "./scoring-graph.ts";

/** A model and how much its opinion counts. */
export type BlendPart = { readonly model: BlendableModel; readonly share: number };

/**
 * The weighted sum of several models' scores. Each model's scores are divided by their standard deviation over the
 * catalog, for each history anew, since scores of different models have different sizes and are never comparable.
 */
export function blend(method: string, params: Params, parts: readonly BlendPart[]): BlendableModel {
  const historyMax = Math.max(...parts.map(({ model }) => model.historyMax));
  const append = appendBlend(parts);
  const itemCount = parts[0]!.model.score({ items: [0 as ItemIndex], agesDays: [0] }).length;
  return {
    method,
    params,
    historyMax,
    append,
    bytesLeast: () => leastOf(parts),
    export: exportScores(method, itemCount, append),
    score(history) {
      const sum = new Float32Array(itemCount);
      for (const { model, share } of parts) {
        const scores = model.score(newest(history, model.historyMax));
        const factor = share / spreadOf(scores);
        for (let item = 0; item < itemCount; item++) sum[item]! += factor * scores[item]!;
      }
      return sum;
    },
  };
}

/** A deviation below this share of the largest score is rounding: all scores are alike and say nothing. */
const LEAST_SHARE = 1e-5;
const LEAST = 1e-20;

function spreadOf(scores: Float32Array): number {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const deviation = Math.sqrt(scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length);
  const largest = scores.reduce((most, score) => Math.max(most, Math.abs(score)), 0);
  return Math.max(deviation, LEAST_SHARE * largest, LEAST);
}

const newest = ({ items, agesDays }: History, count: number): History => ({
  items: items.slice(-count),
  agesDays: agesDays.slice(-count),
});

function appendBlend(parts: readonly BlendPart[]): AppendScores {
  return (graph, inputs, budget) => {
    const scalar = (value: number) =>
      graph.constant({ type: "float32", dims: [], data: Float32Array.of(value) } satisfies TensorValue);
    let left = budget.weightBytesMax;
    const files: { readonly path: string; readonly bytes: Uint8Array }[] = [];
    const truncations: string[] = [];
    // The weightiest first: what it leaves of its bytes is for the others.
    const falling = parts.toSorted((a, b) => b.share - a.share);
    const terms = falling.map(({ model, share }, i) => {
      const weightBytesMax = bytesOfFirst(falling.slice(i), left);
      const part = model.append(graph, inputs, { weightBytesMax, prefix: `${budget.prefix}part${i}_` });
      for (const file of part.weights) left -= file.bytes.length;
      files.push(...part.weights);
      if (part.truncation) truncations.push(`${model.method}: ${part.truncation}`);
      const mean = graph.op("ReduceMean", [part.scores], { keepdims: { int: 0 } });
      const centred = graph.op("Sub", [part.scores, mean]);
      const variance = graph.op("ReduceMean", [graph.op("Mul", [centred, centred])], { keepdims: { int: 0 } });
      const largest = graph.op("ReduceMax", [graph.op("Abs", [part.scores])], { keepdims: { int: 0 } });
      const rounding = graph.op("Mul", [largest, scalar(LEAST_SHARE)]);
      const spread = graph.op("Max", [graph.op("Sqrt", [variance]), rounding, scalar(LEAST)]);
      return graph.op("Mul", [part.scores, graph.op("Div", [scalar(share), spread])]);
    });
    const scores = terms.reduce((sum, term) => graph.op("Add", [sum, term]));
    return { scores, weights: files, truncation: truncations.join("; ") };
  };
}

const leastOf = (parts: readonly BlendPart[]): number =>
  parts.reduce((sum, { model }) => sum + (model.bytesLeast?.() ?? 0), 0);

/** Bytes for the first part: its due, but no more than the least of all others leaves. */
function bytesOfFirst(parts: readonly BlendPart[], weightBytesMax: number): number {
  return Math.min(dueOfFirst(parts, weightBytesMax), weightBytesMax - leastOf(parts.slice(1)));
}

/** What the first part needs at most, and where that is too much beside the others, by its share. */
function dueOfFirst(parts: readonly BlendPart[], weightBytesMax: number): number {
  const first = bytesNeeded(parts[0]!.model);
  let left = weightBytesMax;
  let open = parts.map(({ model, share }) => ({ model, share, needed: bytesNeeded(model) }));
  // Parts that need less than is their due get that; the others share what is left.
  for (;;) {
    const total = open.reduce((sum, { share }) => sum + share, 0);
    const due = (share: number) => Math.floor((left * share) / total);
    const modest = open.filter(({ share, needed }) => needed <= due(share));
    if (modest.some(({ model }) => model === parts[0]!.model)) return first;
    if (modest.length === 0) return due(parts[0]!.share);
    left -= modest.reduce((sum, { needed }) => sum + needed, 0);
    open = open.filter((part) => !modest.includes(part));
  }
}

const NEEDED = new WeakMap<BlendableModel, number>();

/** Of the weights when nothing is left out. */
function bytesNeeded(model: BlendableModel): number {
  const known = NEEDED.get(model);
  if (known !== undefined) return known;
  const graph = graphBuilder("scratch");
  const inputs = {
    items: graph.input("items", "int32", ["L"]),
    ages: () => graph.input("ages_days", "float32", ["L"]),
  };
  const { weights } = model.append(graph, inputs, { weightBytesMax: Number.MAX_SAFE_INTEGER, prefix: "" });
  const needed = weights.reduce((sum, { bytes }) => sum + bytes.length, 0);
  NEEDED.set(model, needed);
  return needed;
}

/** A method with its settings as part of a blend. */
export type BlendRecipe = { readonly method: Method; readonly params: Params; readonly share: number };

/** Fits one model after the other, sharing out the progress; throws for a method whose models cannot be blended. */
export async function fitParts(
  data: TrainingData,
  recipes: readonly BlendRecipe[],
  context: FitContext,
): Promise<BlendPart[]> {
  const parts: BlendPart[] = [];
  for (const [i, { method, params, share }] of recipes.entries()) {
    const progress = (done: number, detail: string) =>
      context.progress((i + done) / recipes.length, `${method.name}: ${detail}`);
    const model = await method.fit(data, params, { ...context, progress });
    if (!isBlendable(model)) throw new Error(`Models of ${method.name} cannot be part of a blend.`);
    parts.push({ model, share });
  }
  return parts;
}

export const isBlendable = (model: object): model is BlendableModel => "append" in model;
