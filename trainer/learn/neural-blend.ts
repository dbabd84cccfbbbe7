import type { ItemIndex } from "../../shared/ids.ts";
import type { History } from "../../shared/snapshot.ts";
import { topK } from "../../shared/top-k.ts";
import { rowsWhere } from "../read/dataset/split.ts";
import { attributesSetting } from "./attributes/source-attributes.ts";
import { checkpoint } from "./checkpoint.ts";
import type { FitContext, FittedModel, Method, TrainingData } from "./model.ts";
import { type JudgedPool, learnShares } from "./neural/blend-shares.ts";
import type { HeldOut } from "./neural/held-out.ts";
import { fitSasrec, type SasrecParams, sasrec } from "./sasrec.ts";
import { type BlendPart, type BlendRecipe, blend, fitParts } from "./scoring/blend.ts";
import { openScorer } from "./scoring/onnx-scorer.ts";
import { sequentialLocalRidge } from "./sequential-local-ridge.ts";
import { sequentialGrid, sequentialRidge } from "./sequential-ridge.ts";
import { positiveHistories } from "./statistics/histories.ts";

export type NeuralBlendParams = SasrecParams & {
  /** Ridge of both closed forms, as in `sequential_ridge`. */
  readonly lambda: number;
  /** How much histories read backwards count in the near-sighted closed form. */
  readonly reversed: number;
  /** Of both closed forms, as in `sequential_ridge`. */
  readonly attributes?: number;
};

/**
 * A next-item transformer with two sequential ridges, one looking far and one near: they err differently. How much each counts is
 * learnt from the entries that the network was stopped by; the ridges are then fitted again, on everything.
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
    const ridges = recipesFor(data, params).map(({ method, params: own }) => method.cost(data, own));
    return {
      seconds: network.seconds + ridgeSeconds(data, params),
      memoryMb: Math.max(network.memoryMb, ...ridges.map(({ memoryMb }) => 1.5 * memoryMb)),
    };
  },
  async fit(data, params, context) {
    const recipes = recipesFor(data, params);
    const secondsMax = Math.max(0.5 * context.secondsMax, context.secondsMax - 1.5 * ridgeSeconds(data, params));
    const network = await fitSasrec(data, networkOf(params), { ...part(context, 0, 0.8, "sasrec: "), secondsMax });
    const shares = await sharesOf(network, { data, recipes, context });
    const again = await fitParts(data, recipes, part(context, 0.9, 1));
    const parts = [network.model, ...again.map(({ model }) => model)].map((model, i) => ({ model, share: shares[i]! }));
    const [, farShare, nearShare] = shares as [number, number, number];
    const used: BlendPart[] = parts.filter(({ share }) => share > 0);
    return blend("neural_blend", { ...params, farShare, nearShare }, used);
  },
};

const networkOf = ({ length, width, blocks, heads, ...rest }: NeuralBlendParams): SasrecParams => {
  const { dropout, learningRate, epochs, drawnCount } = rest;
  return { length, width, blocks, heads, dropout, learningRate, epochs, drawnCount };
};

/** Items up to which the exact solutions are quick; beyond, each item is regressed on its neighbours. */
const EXACT_ITEMS_MAX = 6000;
const NEIGHBOURS = 300;

function recipesFor(data: TrainingData, { lambda, reversed, attributes = 0 }: NeuralBlendParams): BlendRecipe[] {
  const isExact = data.itemCount <= EXACT_ITEMS_MAX;
  const method = (isExact ? sequentialRidge : sequentialLocalRidge) as Method;
  const own = { lambda, negatives: 0, attributes, ...(isExact ? {} : { neighbours: NEIGHBOURS }) };
  const far = { ...own, longScale: 20, longWindow: 60, shortScale: 2, shortWindow: 8, reversed: 0 };
  const near = { ...own, longScale: 10, longWindow: 40, shortScale: 1, shortWindow: 3, reversed };
  return [far, near].map((params) => ({ method, params, share: 1 }));
}

/** Both ridges, twice. */
const ridgeSeconds = (data: TrainingData, params: NeuralBlendParams) =>
  2 * recipesFor(data, params).reduce((sum, { method, params: own }) => sum + method.cost(data, own).seconds, 0);

/** Progress of a part of the fit as progress of the whole. */
const part = (context: FitContext, from: number, to: number, prefix = ""): FitContext => ({
  ...context,
  progress: (share, detail) => context.progress(from + (to - from) * share, `${prefix}${detail}`),
});

type SharesTask = {
  readonly data: TrainingData;
  readonly recipes: readonly BlendRecipe[];
  readonly context: FitContext;
};

/** Of the network and of each ridge, found with ridges that have not seen the held-out entries either. */
async function sharesOf(
  network: { readonly model: FittedModel; readonly heldOut: HeldOut },
  { data, recipes, context }: SharesTask,
): Promise<number[]> {
  const { heldOut } = network;
  if (heldOut.users.length === 0) return learnShares([], 1 + recipes.length);
  const ridges = await fitParts(withoutHeldOut(data, heldOut), recipes, part(context, 0.8, 0.85));
  const pools = await judgedPools([network.model, ...ridges.map(({ model }) => model)], { data, heldOut, context });
  return learnShares(pools, 1 + recipes.length);
}

/** The newest positive of each of those users left out, and what came after it. */
function withoutHeldOut(data: TrainingData, { users }: HeldOut): TrainingData {
  const isKept = new Uint8Array(data.items.length).fill(1);
  for (const user of users) {
    let at = data.userStart[user + 1]!;
    do isKept[--at] = 0;
    while (!data.positive[at]);
  }
  return { ...data, ...rowsWhere(data, (row) => isKept[row] === 1) };
}

const RIVALS = 300;
const CHECK_EVERY = 20;

/** What every part says of the held-out entries that their user had not chosen before. */
async function judgedPools(
  models: readonly FittedModel[],
  { data, heldOut, context }: { readonly data: TrainingData; readonly heldOut: HeldOut; readonly context: FitContext },
): Promise<JudgedPool[]> {
  const { start, items } = positiveHistories(data);
  const roomy = { weightBytesMax: Number.MAX_SAFE_INTEGER };
  const scorers = await Promise.all(models.map((model) => openScorer(model.export(roomy), data.itemCount)));
  const pools: JudgedPool[] = [];
  try {
    for (const [i, user] of heldOut.users.entries()) {
      if (i % CHECK_EVERY === 0) {
        const { progress } = part(context, 0.85, 0.9);
        await checkpoint({ ...context, progress }, i / heldOut.users.length, "how much each part counts");
      }
      const history = [...items.subarray(start[user], heldOut.ends[user])] as ItemIndex[];
      const target = items[heldOut.ends[user]!] as ItemIndex;
      if (history.includes(target)) continue;
      const scores: Float32Array[] = [];
      for (const [m, { historyMax }] of models.entries())
        scores.push(inDeviations(await scorers[m]!.score(newest(history, historyMax))));
      pools.push(poolOf(scores, { history, target }));
    }
  } finally {
    await Promise.all(scorers.map((scorer) => scorer.close()));
  }
  return pools;
}

/** Without ages: none of the parts reads them. */
const newest = (items: readonly ItemIndex[], count: number): History => {
  const kept = items.slice(-count);
  return { items: kept, agesDays: kept.map(() => 0) };
};

function inDeviations(scores: Float32Array): Float32Array {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
  const deviation = Math.sqrt(variance) || 1;
  return scores.map((score) => score / deviation);
}

/** The target and the best of each part, outside the history. */
function poolOf(
  scores: readonly Float32Array[],
  { history, target }: { readonly history: readonly ItemIndex[]; readonly target: ItemIndex },
): JudgedPool {
  const inHistory = new Set(history);
  const chosen = new Set([target]);
  for (const own of scores) for (const item of topK(own, RIVALS, (item) => !inHistory.has(item))) chosen.add(item);
  const pool = [...chosen];
  return { scores: scores.map((own) => Float32Array.from(pool, (item) => own[item]!)), target: 0 };
}
