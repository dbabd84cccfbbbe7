import { type AppendScores, type FittedModel, fitOrReuse, type GraphPart, type Method } from "../model.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { cast, integers, scalar } from "../numerics/onnx/graph-shorthand.ts";
import { exportScores } from "../scoring/scoring-graph.ts";
import { coldCost, coldItems, coldScorer } from "./cold-items.ts";

/** One of this many places of a list may hold a cold item: it is shown, and little of the known relevant items is lost. */
export const COLD_EVERY = 10;
/** The value for catalogs whose cold items proved irrelevant: new items among them still get a chance. */
export const COLD_EVERY_RARE = 50;
/** Largest number of cold items in one list. */
const PLACES_MAX = 10;
/** Fraction of the weight budget for the cold items' scorer. */
const BUDGET_FRACTION = 0.2;

/**
 * Extends a method to cold items: items that nobody has chosen but whose attributes are known. They are scored by their attributes
 * and enter a list by a bounded rule: the best cold item stands right behind the tenth of the other items that are not in the
 * history, the next one behind the twentieth, and so on. Cold items without evidence come last. The setting `coldEvery` replaces
 * ten. Without cold items or attributes the method is unchanged.
 */
export function withColdItems(method: Method): Method {
  return {
    ...method,
    warm: method,
    cost(data, { coldEvery: _, ...params }) {
      const cost = method.cost(data, params);
      const shared = coldCost(data);
      if (!shared) return cost;
      const memoryMb = Math.max(cost.memoryMb, shared.memoryMb);
      return { ...cost, seconds: cost.seconds + shared.seconds, memoryMb, shared };
    },
    async fit(data, { coldEvery, ...params }, context) {
      const model = await fitOrReuse(method, data, params, context);
      const cold = coldItems(data);
      if (cold.length === 0) return model;
      const isCold = new Uint8Array(data.itemCount);
      for (const item of cold) isCold[item] = 1;
      const scorer = await coldScorer(data, context);
      return placeCold(model, { scorer, isCold, count: cold.length, every: coldEvery ?? COLD_EVERY });
    },
  };
}

/** The cold items of some data, and how they enter a list. */
type Cold = {
  readonly scorer: FittedModel;
  readonly isCold: Uint8Array; // [itemCount]
  readonly count: number;
  readonly every: number;
};

/** A model that places cold items in the lists of `warm`. */
export type ColdModel = FittedModel & { readonly warm: FittedModel; readonly cold: Cold };

function placeCold(warm: FittedModel, cold: Cold): FittedModel {
  const { scorer, isCold, every } = cold;
  const { method, itemCount } = warm;
  const places = Math.min(PLACES_MAX, cold.count, Math.floor((itemCount - cold.count) / every));
  if (places === 0) return warm;
  const append: AppendScores = (graph, items, budget) => {
    const weightBytesMax = BUDGET_FRACTION * budget.weightBytesMax;
    const coldPart = scorer.append(graph, items, { weightBytesMax, prefix: `${budget.prefix}cold_` });
    const used = coldPart.weights.reduce((sum, { bytes }) => sum + bytes.length, itemCount);
    const warmPart = warm.append(graph, items, { ...budget, weightBytesMax: budget.weightBytesMax - used });
    const maskPath = `${budget.prefix}is_cold.bin`;
    const mask = graph.external(maskPath, "bool", [itemCount]);
    const truncations = [warmPart.truncation, coldPart.truncation && `cold items: ${coldPart.truncation}`];
    return {
      scores: joinedScores(graph, { items, warm: warmPart.scores, cold: coldPart.scores, mask, places, every }),
      weights: [...warmPart.weights, ...coldPart.weights, { path: maskPath, bytes: isCold }],
      truncation: truncations.filter(Boolean).join("; "),
      recipe: coldRecipe(warmPart.recipe, maskPath),
    };
  };
  const model: ColdModel = {
    ...warm,
    warm,
    cold,
    historyMax: Math.max(warm.historyMax, scorer.historyMax),
    append,
    bytesCoded: () => warm.bytesCoded() + scorer.bytesCoded() + itemCount,
    export: exportScores(method, itemCount, append),
  };
  return model;
}

const coldRecipe = (warm: GraphPart["recipe"], maskPath: string): GraphPart["recipe"] =>
  warm && { recipe: { kind: "cold", warm: warm.recipe, is_cold: maskPath }, arrays: warm.arrays };

const SCORE_MIN = -3.4e38;

type JoinInputs = {
  readonly items: string;
  readonly warm: string;
  readonly cold: string;
  readonly mask: string;
  readonly places: number;
  readonly every: number;
};

/** A placed cold item gets the score of the item that it stands behind; ties keep catalog order. */
function joinedScores(graph: GraphBuilder, { items, warm, cold, mask, places, every }: JoinInputs): string {
  const least = scalar(graph, SCORE_MIN);
  const last = graph.op("ReduceMin", [warm], { keepdims: { int: 0 } });
  const inHistory = cast(graph, items, "int64");
  const leasts = graph.op("Expand", [least, graph.op("Shape", [items])]);
  const others = graph.op("ScatterElements", [graph.op("Where", [mask, least, warm]), inHistory, leasts]);
  const [top] = graph.ops("TopK", [others, integers(graph, places * every)], 2, { axis: { int: 0 } });
  const coldOnly = graph.op("Where", [mask, cold, least]);
  const [coldTop, coldItems] = graph.ops("TopK", [coldOnly, integers(graph, places)], 2, { axis: { int: 0 } });
  const behind = Array.from({ length: places }, (_, c) => (c + 1) * every - 1);
  const bars = graph.op("Gather", [top!, integers(graph, ...behind)], { axis: { int: 0 } });
  const hasEvidence = graph.op("And", [
    graph.op("Greater", [coldTop!, scalar(graph, 0)]),
    graph.op("Greater", [bars, least]),
  ]);
  const placed = graph.op("Where", [hasEvidence, bars, last]);
  return graph.op("ScatterElements", [graph.op("Where", [mask, last, warm]), coldItems!, placed], { axis: { int: 0 } });
}
