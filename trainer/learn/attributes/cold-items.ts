import { fittedLinear } from "../linear/fitted-linear.ts";
import { AS_SET } from "../linear/linear-model.ts";
import type { FitContext, SharedCost, TrainingData } from "../model.ts";
import type { BlendableModel } from "../scoring/scoring-graph.ts";
import { timesChosen } from "../statistics/histories.ts";
import { attributeCost, attributeWeights } from "./attribute-ridge.ts";
import { describedItems } from "./item-features.ts";

const SETTINGS = { lambda: 10, neighbours: 100 };
/** Multiply-adds that scoring cold items may cost. */
const WORK_MAX = 5e12;

/** By their data: what a selection asks for again with every candidate. */
const COLD = new WeakMap<TrainingData, Int32Array>();
const SCORERS = new WeakMap<TrainingData, BlendableModel>();

/**
 * Items without a positive interaction that have an attribute which other items share. Of very many, the first: as many
 * as can be scored in some minutes.
 */
export function coldItems(data: TrainingData): Int32Array {
  const known = COLD.get(data);
  if (known) return known;
  const cold = findColdItems(data);
  COLD.set(data, cold);
  return cold;
}

function findColdItems(data: TrainingData): Int32Array {
  const chosen = new Uint8Array(data.itemCount);
  for (let i = 0; i < data.items.length; i++) if (data.positive[i]) chosen[data.items[i]!] = 1;
  if (chosen.every((is) => is === 1) || data.itemAttributes.length === 0) return new Int32Array(0);
  const { isDescribed, featureCount } = describedItems(data.itemAttributes, data.itemCount);
  const cold = Int32Array.from(chosen.keys()).filter((item) => !chosen[item] && isDescribed[item]);
  return cold.slice(0, Math.floor(WORK_MAX / (data.itemCount * Math.max(1, featureCount))));
}

/** Scores of the cold items by their attributes: the same for every model of these data, so learnt once. */
export async function coldScorer(data: TrainingData, context: FitContext): Promise<BlendableModel> {
  const known = SCORERS.get(data);
  if (known) return known;
  const matrix = await attributeWeights(data, coldItems(data), SETTINGS, context);
  const terms = [{ weighting: AS_SET, matrix }];
  const { itemCount } = data;
  const scorer = fittedLinear("cold_items", SETTINGS, { itemCount, terms, bias: undefined, uses: timesChosen(data) });
  SCORERS.set(data, scorer);
  return scorer;
}

/** Of coldScorer; undefined where nothing is cold. */
export function coldCost(data: TrainingData): (SharedCost & { readonly memoryMb: number }) | undefined {
  const { length } = coldItems(data);
  if (length === 0) return undefined;
  const { seconds, memoryMb } = attributeCost(data, length, SETTINGS);
  return { seconds, memoryMb, isLearnt: SCORERS.has(data) };
}
