import type { AttributeColumn } from "../../shared/attributes.ts";
import type { Catalog } from "../../shared/catalog.ts";
import type { ItemId, ItemIndex } from "../../shared/ids.ts";
import { placedItems } from "../../shared/items/placed-items.ts";
import { packStrings } from "../../shared/packed-strings.ts";
import { scaleOf } from "../../shared/rank/score-scale.ts";
import { topK } from "../../shared/top-k.ts";
import { METRICS } from "../../trainer/choose/evaluate/metrics.ts";
import { newItemWeights } from "../../trainer/learn/attributes/new-item-weights.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import type { Params, TrainingData } from "../../trainer/learn/model.ts";
import { samplePositions, seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { pickColumn, reorderItems } from "../../trainer/read/dataset/reorder-items.ts";
import { rowsWhere } from "../../trainer/read/dataset/split.ts";
import { byFallingScore, countPerItem } from "../fixtures/by-popularity.ts";
import { type RealDataSet, readRealData } from "../fixtures/real-data.ts";
import { compared, type Figure } from "./bench.ts";
import { benchContext } from "./quality-judge.ts";

/** Data sets with item attributes. */
export const COLD_TASKS = ["amazon-beauty", "ml-100k"] as const satisfies readonly RealDataSet[];

/** Recall@10 and NDCG@10 among the hidden items, from a study of the same data. */
const REFERENCES = { "amazon-beauty": [0.16, 0.105], "ml-100k": [0.217, 0.233] } as const;
const SEEDS = [1, 2, 3] as const;
const HIDDEN_SHARE = 0.1;
const USERS_MAX = 5000;
const K = 10;
const HISTORY_MAX = 500;

/** How the hidden items are ranked: as a training places items that nobody has chosen, or as an extension places new items. */
const WAYS = ["attribute_ridge", "new_items"] as const;
type Way = (typeof WAYS)[number];

/**
 * Hides a tenth of the items from training and ranks only the hidden ones, for users with both kinds. Mean of three
 * seeds.
 */
export async function coldFigures(set: (typeof COLD_TASKS)[number], say: (line: string) => void): Promise<Figure[]> {
  const runs: Record<Way, Judged>[] = [];
  for (const seed of SEEDS) {
    const judged = await coldRun(set, seed);
    for (const way of WAYS)
      say(
        `  ${set}.cold.${way}, seed ${seed}: recall ${judged[way].recall.toFixed(4)}, ndcg ${judged[way].ndcg.toFixed(4)}`,
      );
    runs.push(judged);
  }
  return WAYS.flatMap((way) =>
    (["recall", "ndcg"] as const).map((metric, i) => {
      const mean = runs.reduce((sum, judged) => sum + judged[way][metric], 0) / runs.length;
      return compared(`quality.${set}.cold.${way}.${metric}@${K}`, "share", mean, REFERENCES[set][i]!);
    }),
  );
}

type Judged = { readonly recall: number; readonly ndcg: number };
/** Scores of all items for a history. */
type Score = (items: readonly ItemIndex[]) => Promise<Float32Array>;

async function coldRun(set: RealDataSet, seed: number): Promise<Record<Way, Judged>> {
  const { dataset } = await readRealData(set, { everyRowPositive: true, withAttributes: true });
  const lot = seededRandom(seed);
  const hidden = Uint8Array.from({ length: dataset.itemCount }, () => (lot() < HIDDEN_SHARE ? 1 : 0));
  const shown = rowsWhere(dataset, (row) => hidden[dataset.items[row]!] === 0);
  const order = byFallingScore(countPerItem(shown));
  const all = reorderItems(dataset, order);
  const isHidden = Uint8Array.from(order, (item) => hidden[item]!);
  const train = rowsWhere(all, (row) => isHidden[all.items[row]!] === 0);
  const { itemAttributes, userAttributes } = all;
  const data = { ...train, itemAttributes, userAttributes };

  const byAttributes = await scorerOf("attribute_ridge", data, { neighbours: all.itemCount }, lot);
  const known = await scorerOf("local_ridge", data, {}, lot);
  const users = Array.from({ length: all.userCount }, (_, user) => {
    const items = [...all.items.subarray(all.userStart[user], all.userStart[user + 1])] as ItemIndex[];
    return {
      known: items.filter((item) => !isHidden[item]),
      relevant: new Set(items.filter((item) => isHidden[item])),
    };
  }).filter(({ known, relevant }) => known.length > 0 && relevant.size > 0);
  const chosen = samplePositions(users.length, USERS_MAX, lot);
  const judge = async (score: Score): Promise<Judged> => {
    let [recall, ndcg] = [0, 0];
    for (const at of chosen) {
      const { known, relevant } = users[at]!;
      const ranked = topK(await score(known.slice(-HISTORY_MAX)), K, (item) => isHidden[item] === 1);
      recall += METRICS.recall(ranked, relevant, K) / chosen.length;
      ndcg += METRICS.ndcg(ranked, relevant, K) / chosen.length;
    }
    return { recall, ndcg };
  };
  const judged = {
    attribute_ridge: await judge(byAttributes.score),
    new_items: await judge(await extended(known.score, itemAttributes, isHidden)),
  };
  await byAttributes.close();
  await known.close();
  return judged;
}

async function scorerOf(name: string, data: TrainingData, more: Params, random: () => number) {
  const { warm = METHODS[name]! } = METHODS[name]!;
  const fitted = await warm.fit(data, { ...warm.grid(data)[0]!, ...more }, benchContext(random));
  const scorer = await openScorer(fitted.export({ weightBytesMax: 1e10 }), data.itemCount);
  const score: Score = (items) => scorer.score({ items, agesDays: items.map(() => 0) });
  return { score, close: () => scorer.close() };
}

/** The same scores, with those that an extension gives hidden items. It knows the other items as the version's. */
async function extended(score: Score, columns: readonly AttributeColumn[], isHidden: Uint8Array): Promise<Score> {
  const indices = [...isHidden.keys()] as ItemIndex[];
  const [known, hidden] = [indices.filter((item) => !isHidden[item]), indices.filter((item) => isHidden[item])];
  const rows = Int32Array.from([...known, ...hidden]);
  const picked = columns.map((column) => pickColumn(column, rows));
  const counts = { knownCount: known.length, newCount: hidden.length };
  const weights = await newItemWeights(picked, counts);
  const catalog = { indexOf: (id: ItemId) => (known.length + Number(id)) as ItemIndex };
  const ids = packStrings(hidden.map((_, i) => String(i)));
  const placed = placedItems({ ids, every: 1, ...weights }, catalog as Catalog, known.length);
  return async (items) => {
    const scores = await score(items);
    const ofKnown = Float32Array.from(known, (item) => scores[item]!);
    const predicted = placed.scoresFrom(ofKnown, scaleOf(ofKnown).mean);
    for (const [i, at] of placed.items.entries()) scores[hidden[at]!] = predicted[i]!;
    return scores;
  };
}
