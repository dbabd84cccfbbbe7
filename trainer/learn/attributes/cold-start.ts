import type { History } from "../../../shared/snapshot.ts";
import { topK } from "../../../shared/top-k.ts";
import type { Method } from "../model.ts";
import { cast } from "../numerics/autodiff/graph-shorthand.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { isBlendable } from "../scoring/blend.ts";
import { type AppendScores, type BlendableModel, exportScores } from "../scoring/scoring-graph.ts";
import { coldCost, coldItems, coldScorer } from "./cold-items.ts";

/** One place in so many may be a cold item's: it is shown, and little of what is known to be liked is lost. */
export const COLD_EVERY = 10;
/** The same where cold items have proved to be ones that nobody wants: new ones among them still have their chance. */
export const COLD_EVERY_RARE = 50;
/** Cold items that one answer may place. */
const PLACES_MAX = 10;
/** Of the budget for weights, what the cold items may take. */
const BUDGET_SHARE = 0.2;
/**
 * The same method for data with cold items: items that nobody has chosen yet but whose attributes are known. They are
 * scored by their attributes, and enter a list by a bounded rule: the best of them stands behind the tenth of the other
 * items that are not in the history, the next behind the twentieth, and so on; what attributes say nothing of comes last. The setting
 * `coldEvery` takes the place of ten.
 * Without cold items, or without attributes, the method is as it was.
 */
export function withColdItems(method: Method): Method {
  return {
    ...method,
    placesColdItems: true,
    cost(data, params) {
      const own = method.cost(data, params);
      const shared = coldCost(data);
      if (!shared) return own;
      const memoryMb = Math.max(own.memoryMb, shared.memoryMb);
      return { seconds: own.seconds + shared.seconds, memoryMb, shared };
    },
    async fit(data, params, context) {
      const model = await method.fit(data, params, context);
      const cold = coldItems(data);
      if (!isBlendable(model) || cold.length === 0) return model;
      const isCold = new Uint8Array(data.itemCount);
      for (const item of cold) isCold[item] = 1;
      const scorer = await coldScorer(data, context);
      return placeCold(model, { scorer, isCold, count: cold.length, every: params.coldEvery ?? COLD_EVERY });
    },
  };
}

/** The cold items of some data, and how they enter a list. */
type Cold = {
  readonly scorer: BlendableModel;
  readonly isCold: Uint8Array; // [itemCount]
  readonly count: number;
  readonly every: number;
};

/** A model whose lists have cold items among those of the warm model. */
type ColdModel = BlendableModel & { readonly warm: BlendableModel; readonly cold: Cold };

const hasCold = (model: BlendableModel): model is ColdModel => "cold" in model;

/** A model without the cold items that were placed in its lists. */
export const warmOf = (model: BlendableModel): BlendableModel => (hasCold(model) ? model.warm : model);

/** The warm model with cold items placed as in models of the same data: as rarely as in any of them, or none. */
export function placedAsIn(models: readonly BlendableModel[], warm: BlendableModel): BlendableModel {
  const placing = models.filter(hasCold).map(({ cold }) => cold);
  if (placing.length === 0) return warm;
  return placeCold(warm, { ...placing[0]!, every: Math.max(...placing.map(({ every }) => every)) });
}

function placeCold(model: BlendableModel, cold: Cold): BlendableModel {
  const { scorer: byAttributes, isCold, every } = cold;
  const itemCount = isCold.length;
  const places = Math.min(PLACES_MAX, cold.count, Math.floor((itemCount - cold.count) / every));
  if (places === 0) return model;
  const append: AppendScores = (graph, inputs, budget) => {
    const least = BUDGET_SHARE * budget.weightBytesMax;
    const cool = byAttributes.append(graph, inputs, { weightBytesMax: least, prefix: `${budget.prefix}cold_` });
    const used = cool.weights.reduce((sum, { bytes }) => sum + bytes.length, itemCount);
    const warm = model.append(graph, inputs, { ...budget, weightBytesMax: budget.weightBytesMax - used });
    const maskPath = `${budget.prefix}is_cold.bin`;
    const mask = cast(graph, graph.external(maskPath, "uint8", [itemCount]), "bool");
    return {
      scores: joinedScores(graph, { items: inputs.items, warm: warm.scores, cold: cool.scores, mask, places, every }),
      weights: [...warm.weights, ...cool.weights, { path: maskPath, bytes: isCold }],
      truncation: [warm.truncation, cool.truncation && `cold items: ${cool.truncation}`].filter(Boolean).join("; "),
    };
  };
  return {
    ...model,
    warm: model,
    cold,
    historyMax: Math.max(model.historyMax, byAttributes.historyMax),
    append,
    export: exportScores(model.method, itemCount, append),
    score(history) {
      const newest = {
        items: history.items.slice(-model.historyMax),
        agesDays: history.agesDays.slice(-model.historyMax),
      };
      return joinScores(history, {
        warm: model.score(newest),
        cold: byAttributes.score(history),
        isCold,
        places,
        every,
      });
    },
  } as ColdModel;
}

type Scores = {
  readonly warm: Float32Array;
  readonly cold: Float32Array;
  readonly isCold: Uint8Array;
  readonly places: number;
  readonly every: number;
};

/** The rule without ONNX. A cold item has the score of the item it stands behind: equal scores keep catalog order. */
function joinScores({ items }: History, { warm, cold, isCold, places, every }: Scores): Float32Array {
  const inHistory = new Set(items);
  const others = topK(warm, places * every, (item) => !isCold[item] && !inHistory.has(item));
  const last = warm.reduce((least, score) => Math.min(least, score));
  const joined = warm.map((score, item) => (isCold[item] ? last : score));
  for (const [c, item] of topK(cold, places, (item) => isCold[item] === 1).entries()) {
    const behind = others[(c + 1) * every - 1];
    if (cold[item]! > 0 && behind !== undefined) joined[item] = warm[behind]!;
  }
  return joined;
}

const LEAST = -3.4e38;

type JoinInputs = {
  readonly items: string;
  readonly warm: string;
  readonly cold: string;
  readonly mask: string;
  readonly places: number;
  readonly every: number;
};

function joinedScores(graph: GraphBuilder, { items, warm, cold, mask, places, every }: JoinInputs): string {
  const scalar = (value: number) => graph.constant({ type: "float32", dims: [], data: Float32Array.of(value) });
  const int64 = (...values: number[]) =>
    graph.constant({ type: "int64", dims: [values.length], data: BigInt64Array.from(values, BigInt) });
  const least = scalar(LEAST);
  const last = graph.op("ReduceMin", [warm], { keepdims: { int: 0 } });
  const inHistory = cast(graph, items, "int64");
  const leasts = graph.op("Expand", [least, graph.op("Shape", [items])]);
  const others = graph.op("ScatterElements", [graph.op("Where", [mask, least, warm]), inHistory, leasts]);
  const [top] = graph.ops("TopK", [others, int64(places * every)], 2, { axis: { int: 0 } });
  const [coldTop, coldItems] = graph.ops("TopK", [graph.op("Where", [mask, cold, least]), int64(places)], 2, {
    axis: { int: 0 },
  });
  const behind = Array.from({ length: places }, (_, c) => (c + 1) * every - 1);
  const bars = graph.op("Gather", [top!, int64(...behind)], { axis: { int: 0 } });
  const isKnown = graph.op("And", [graph.op("Greater", [coldTop!, scalar(0)]), graph.op("Greater", [bars, least])]);
  const placed = graph.op("Where", [isKnown, bars, last]);
  return graph.op("ScatterElements", [graph.op("Where", [mask, last, warm]), coldItems!, placed], { axis: { int: 0 } });
}
