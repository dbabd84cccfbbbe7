import type { ItemIndex } from "../../shared/ids.ts";
import { topK } from "../../shared/top-k.ts";
import { rowsWhere } from "../read/dataset/split.ts";
import { attributesSetting } from "./attributes/source-attributes.ts";
import { type FitContext, type FittedModel, type Method, reportProgress, type TrainingData } from "./model.ts";
import { likeliestWeights, type ScoredPool } from "./neural/blend-weights.ts";
import type { HeldOut } from "./neural/held-out.ts";
import { fitSasrec, type SasrecParams, sasrec } from "./sasrec.ts";
import { blend, newest, spreadOf } from "./scoring/blend.ts";
import { type BlendRecipe, costOfParts, fitParts } from "./scoring/blend-recipe.ts";
import { openScorer } from "./scoring/onnx-scorer.ts";
import { type FarAndNearParams, farAndNearRidges } from "./sequential-blend.ts";
import { sequentialGrid } from "./sequential-ridge.ts";
import { positiveHistories } from "./statistics/histories.ts";

export type NeuralBlendParams = SasrecParams & Omit<FarAndNearParams, "negatives">;

/**
 * Computes the sum of a `sasrec` network and two sequential ridges, one with far and one with near windows, each divided by its
 * spread. The weights are learnt from the held-out entries that stopped the network; the ridges are then fitted again on all data.
 * Wins: next item on dense data. Cost: the network's, about forty times that of the closed forms.
 */
export const neuralBlend: Method<NeuralBlendParams> = {
  name: "neural_blend",
  fillsItsTime: true,
  grid: (data) => {
    const lambda = sequentialGrid(data)[0]!.lambda;
    return sasrec.grid(data).map((network) => ({ ...network, lambda, reversed: 0.3, ...attributesSetting(data) }));
  },
  cost(data, params) {
    const network = sasrec.cost(data, networkOf(params));
    const ridges = costOfParts(data, farAndNearRidges(data, params));
    return {
      seconds: network.seconds + FITS_OF_RIDGES * ridges.seconds,
      memoryMb: Math.max(network.memoryMb, ridges.memoryMb),
    };
  },
  async fit(data, params, context) {
    const recipes = farAndNearRidges(data, params);
    const ridgeSeconds = FITS_OF_RIDGES * costOfParts(data, recipes).seconds;
    const secondsMax = Math.max(0.5 * context.secondsMax, context.secondsMax - 1.5 * ridgeSeconds);
    const network = await fitSasrec(data, networkOf(params), { ...part(context, 0, 0.8, "sasrec: "), secondsMax });
    const weights = await learnWeights(network, { data, recipes, context });
    const ridges = await fitParts(data, recipes, part(context, 0.9, 1));
    const parts = [network.model, ...ridges.map(({ model }) => model)].map((model, i) => ({
      model,
      weight: weights[i]!,
    }));
    const [, farShare, nearShare] = weights as [number, number, number];
    const used = parts.filter(({ weight }) => weight > 0);
    return blend("neural_blend", { ...params, farShare, nearShare }, used);
  },
};

const networkOf = ({ length, width, blocks, heads, ...rest }: NeuralBlendParams): SasrecParams => {
  const { dropout, learningRate, epochs, drawnCount } = rest;
  return { length, width, blocks, heads, dropout, learningRate, epochs, drawnCount };
};

/** Both ridges are fitted twice: without the held-out entries to learn the weights, then on all data. */
const FITS_OF_RIDGES = 2;

/** The context of one part of the fit: its progress is mapped to from … to of the whole. */
const part = (context: FitContext, from: number, to: number, prefix = ""): FitContext => ({
  ...context,
  progress: (fraction, detail) => context.progress(from + (to - from) * fraction, `${prefix}${detail}`),
});

type WeightsTask = {
  readonly data: TrainingData;
  readonly recipes: readonly BlendRecipe[];
  readonly context: FitContext;
};

/** Weights of the network and of each ridge, learnt with ridges that have not seen the held-out entries either. */
async function learnWeights(
  network: { readonly model: FittedModel; readonly heldOut: HeldOut },
  { data, recipes, context }: WeightsTask,
): Promise<number[]> {
  const { heldOut } = network;
  if (heldOut.users.length === 0) return likeliestWeights([], 1 + recipes.length);
  const ridges = await fitParts(withoutHeldOut(data, heldOut), recipes, part(context, 0.8, 0.85));
  const models = [network.model, ...ridges.map(({ model }) => model)];
  const pools = await scoredPools(models, { data, heldOut, context: part(context, 0.85, 0.9) });
  return likeliestWeights(pools, 1 + recipes.length);
}

/** The data without each held-out user's newest positive interaction and everything after it. */
function withoutHeldOut(data: TrainingData, { users }: HeldOut): TrainingData {
  const isKept = new Uint8Array(data.items.length).fill(1);
  for (const user of users) {
    let at = data.userStart[user + 1]!;
    do isKept[--at] = 0;
    while (!data.positive[at]);
  }
  return { ...data, ...rowsWhere(data, (row) => isKept[row] === 1) };
}

/** Items of each part's list that compete with the target. */
const RIVALS = 300;
const USERS_BETWEEN_REPORTS = 20;

/** For each held-out entry that its user had not chosen before: every part's scores of the target and its rivals. */
async function scoredPools(
  models: readonly FittedModel[],
  { data, heldOut, context }: { readonly data: TrainingData; readonly heldOut: HeldOut; readonly context: FitContext },
): Promise<ScoredPool[]> {
  const { start, items } = positiveHistories(data);
  const roomy = { weightBytesMax: Number.MAX_SAFE_INTEGER };
  const scorers = await Promise.all(models.map((model) => openScorer(model.export(roomy), data.itemCount)));
  const pools: ScoredPool[] = [];
  try {
    for (const [i, user] of heldOut.users.entries()) {
      if (i % USERS_BETWEEN_REPORTS === 0)
        await reportProgress(context, i / heldOut.users.length, "learning the weights of the parts");
      const history = [...items.subarray(start[user], heldOut.ends[user])] as ItemIndex[];
      const target = items[heldOut.ends[user]!] as ItemIndex;
      if (history.includes(target)) continue;
      const agesDays = history.map(() => 0); // no part reads ages
      const scores: Float32Array[] = [];
      for (const [m, { historyMax }] of models.entries()) {
        const unscaled = await scorers[m]!.score(newest({ items: history, agesDays }, historyMax));
        const spread = spreadOf(unscaled);
        scores.push(unscaled.map((score) => score / spread));
      }
      pools.push(poolOf(scores, { history, target }));
    }
  } finally {
    await Promise.all(scorers.map((scorer) => scorer.close()));
  }
  return pools;
}

/** The target (first) and the best items of each part, without the history. */
function poolOf(
  scores: readonly Float32Array[],
  { history, target }: { readonly history: readonly ItemIndex[]; readonly target: ItemIndex },
): ScoredPool {
  const inHistory = new Set(history);
  const pool = new Set([target]);
  for (const part of scores) for (const item of topK(part, RIVALS, (item) => !inHistory.has(item))) pool.add(item);
  const items = [...pool];
  return { scores: scores.map((part) => Float32Array.from(items, (item) => part[item]!)), target: 0 };
}
