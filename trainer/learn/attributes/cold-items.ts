import { fittedLinear } from "../linear/linear-export.ts";
import { AS_SET } from "../linear/linear-model.ts";
import type { FitContext, FittedModel, SharedCost, TrainingData } from "../model.ts";
import { timesChosen } from "../statistics/histories.ts";
import { attributeCost, attributeWeights } from "./attribute-ridge.ts";
import { hiddenCount, vectorsHelp } from "./choose-vectors.ts";
import { describedItems } from "./item-features.ts";
import { hasVectors, vectorFeatureCount, withVector } from "./vector-features.ts";

/** Settings of the ridge that scores items by their attributes. */
export const COLD_SETTINGS = { lambda: 5, neighbours: 100 };
/** Largest number of multiply-adds for scoring cold items: some minutes. */
const WORK_MAX = 5e12;

/** Results by training data, because a selection asks for them again with every candidate. */
const COLD = new WeakMap<TrainingData, Int32Array>();
const SCORERS = new WeakMap<TrainingData, FittedModel>();

/**
 * Items without a positive interaction that have a vector, or an attribute which other items share. Only the first ones, where
 * scoring all of them would take more than some minutes.
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
  const hasVector = withVector(data.itemAttributes, data.itemCount);
  const cold = Int32Array.from(chosen.keys()).filter((item) => !chosen[item] && (isDescribed[item] || hasVector[item]));
  const columnCount = featureCount + vectorFeatureCount(data.itemAttributes);
  return cold.slice(0, Math.floor(WORK_MAX / (data.itemCount * Math.max(1, columnCount))));
}

/** Scores the cold items by their attributes. It is the same for every model of these data, so it is learnt once. */
export async function coldScorer(data: TrainingData, context: FitContext): Promise<FittedModel> {
  const known = SCORERS.get(data);
  if (known) return known;
  const settings = { ...COLD_SETTINGS, vectors: (await usesVectors(data, context)) ? 1 : 0 };
  const matrix = await attributeWeights(data, coldItems(data), settings, context);
  const terms = [{ weighting: AS_SET, matrix }];
  const { itemCount } = data;
  const scorer = fittedLinear("cold_items", settings, { itemCount, terms, uses: timesChosen(data) });
  SCORERS.set(data, scorer);
  return scorer;
}

async function usesVectors(data: TrainingData, context: FitContext): Promise<boolean> {
  if (!hasVectors(data.itemAttributes)) return false;
  const { featureCount } = describedItems(data.itemAttributes, data.itemCount);
  return featureCount === 0 || (await vectorsHelp(data, COLD_SETTINGS, context));
}

/** The cost of `coldScorer`; undefined when there are no cold items. */
export function coldCost(data: TrainingData): (SharedCost & { readonly memoryMb: number }) | undefined {
  const { length } = coldItems(data);
  if (length === 0) return undefined;
  const isPaid = SCORERS.has(data);
  if (!hasVectors(data.itemAttributes)) return { ...attributeCost(data, length, COLD_SETTINGS), isPaid };
  const settings = { ...COLD_SETTINGS, vectors: 1 };
  const fit = attributeCost(data, length, settings);
  const trial = attributeCost(data, hiddenCount(data.itemCount), settings);
  return { seconds: fit.seconds + 2 * trial.seconds, memoryMb: Math.max(fit.memoryMb, trial.memoryMb), isPaid };
}
