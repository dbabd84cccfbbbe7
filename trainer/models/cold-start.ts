import { topK } from "../../shared/top-k.ts";
import type { GraphBuilder } from "../onnx/graph.ts";
import { attributeWeights } from "./attribute-ridge.ts";
import { isBlendable } from "./blend.ts";
import { itemFeatures } from "./item-features.ts";
import { AS_SET, fittedLinear } from "./linear-model.ts";
import type { FitContext, FittedModel, Method, TrainingData } from "./model.ts";
import { type AppendScores, type BlendableModel, exportScores } from "./scoring-graph.ts";

/** A cold item stands behind so many of the others at best: it is shown, and nothing that is known to be liked is lost. */
export const COLD_BEHIND = 10;
const SETTINGS = { lambda: 10, neighbours: 100 };
/** Of the budget for weights, what the cold items may take. */
const BUDGET_SHARE = 0.2;
/** Below this a score says nothing. */
const LEAST = 1e-20;

/**
 * The same method for data with cold items: items that nobody has chosen yet but whose attributes are known. They are
 * scored by their attributes, and enter a list by a bounded rule: the best of them takes the score of the tenth of the
 * other items, the others their share of that. Without cold items, or without attributes, the method is as it was.
 */
export function withColdItems(method: Method): Method {
  return {
    ...method,
    async fit(data, params, context) {
      const model = await method.fit(data, params, context);
      if (!isBlendable(model)) return model;
      const cold = coldItems(data);
      return cold.length === 0 ? model : await joinCold(model, data, cold, context);
    },
  };
}

/** Items without a positive interaction that have an attribute which other items share. */
export function coldItems(data: TrainingData): Int32Array {
  const chosen = new Uint8Array(data.itemCount);
  for (let i = 0; i < data.items.length; i++) if (data.positive[i]) chosen[data.items[i]!] = 1;
  if (chosen.every((is) => is === 1) || data.itemAttributes.length === 0) return new Int32Array(0);
  const { start } = itemFeatures(data.itemAttributes, data.itemCount);
  return Int32Array.from(chosen.keys()).filter((item) => !chosen[item] && start[item + 1]! > start[item]!);
}

async function joinCold(
  model: BlendableModel,
  data: TrainingData,
  cold: Int32Array,
  context: FitContext,
): Promise<FittedModel> {
  const { itemCount } = data;
  const matrix = await attributeWeights(data, cold, SETTINGS, context);
  const byAttributes = fittedLinear("cold_items", SETTINGS, {
    itemCount,
    terms: [{ weighting: AS_SET, matrix }],
    bias: undefined,
  });
  const isCold = new Uint8Array(itemCount);
  for (const item of cold) isCold[item] = 1;
  const place = Math.min(COLD_BEHIND, itemCount - cold.length);
  if (place === 0) return model;
  const append: AppendScores = (graph, inputs, budget) => {
    const least = BUDGET_SHARE * budget.weightBytesMax;
    const cool = byAttributes.append(graph, inputs, { weightBytesMax: least, prefix: `${budget.prefix}cold_` });
    const used = cool.weights.reduce((sum, { bytes }) => sum + bytes.length, itemCount);
    const warm = model.append(graph, inputs, { ...budget, weightBytesMax: budget.weightBytesMax - used });
    const maskPath = `${budget.prefix}is_cold.bin`;
    const mask = graph.op("Cast", [graph.external(maskPath, "uint8", [itemCount])], { to: { int: BOOL } });
    return {
      scores: joinedScores(graph, { warm: warm.scores, cold: cool.scores, mask, place }),
      weights: [...warm.weights, ...cool.weights, { path: maskPath, bytes: isCold }],
      truncation: [warm.truncation, cool.truncation && `cold items: ${cool.truncation}`].filter(Boolean).join("; "),
    };
  };
  return {
    ...model,
    historyMax: Math.max(model.historyMax, byAttributes.historyMax),
    append,
    export: exportScores(model.method, itemCount, append),
    score(history) {
      const newest = {
        items: history.items.slice(-model.historyMax),
        agesDays: history.agesDays.slice(-model.historyMax),
      };
      return joinScores(model.score(newest), byAttributes.score(history), isCold, place);
    },
  } as BlendableModel;
}

/** The rule: a cold item gets the score b of the place-th other item, less |b| times what it lacks to the best cold one. */
function joinScores(warm: Float32Array, cold: Float32Array, isCold: Uint8Array, place: number): Float32Array {
  const last = topK(warm, place, (item) => !isCold[item]).at(-1)!;
  const bar = warm[last]!;
  const best = cold.reduce((most, score, item) => (isCold[item] ? Math.max(most, score) : most), LEAST);
  return warm.map((score, item) =>
    isCold[item] ? bar - Math.abs(bar) * (1 - Math.max(-1, cold[item]! / best)) : score,
  );
}

const BOOL = 9;
const FLOAT = 1;

type JoinInputs = { readonly warm: string; readonly cold: string; readonly mask: string; readonly place: number };

function joinedScores(graph: GraphBuilder, { warm, cold, mask, place }: JoinInputs): string {
  const scalar = (value: number) => graph.constant({ type: "float32", dims: [], data: Float32Array.of(value) });
  const count = graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(BigInt(place)) });
  const others = graph.op("Where", [mask, scalar(-FLOAT_MAX), warm]);
  const [top] = graph.ops("TopK", [others, count], 2, { axis: { int: 0 } });
  const bar = graph.op("ReduceMin", [top!], { keepdims: { int: 0 } });
  const ofCold = graph.op("Mul", [cold, graph.op("Cast", [mask], { to: { int: FLOAT } })]);
  const best = graph.op("Max", [graph.op("ReduceMax", [ofCold], { keepdims: { int: 0 } }), scalar(LEAST)]);
  const ratio = graph.op("Max", [graph.op("Div", [cold, best]), scalar(-1)]);
  const lack = graph.op("Mul", [graph.op("Abs", [bar]), graph.op("Sub", [scalar(1), ratio])]);
  return graph.op("Where", [mask, graph.op("Sub", [bar, lack]), warm]);
}

const FLOAT_MAX = 3.4e38;
