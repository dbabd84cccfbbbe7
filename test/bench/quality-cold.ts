import type { ItemIndex } from "../../shared/ids.ts";
import { topK } from "../../shared/top-k.ts";
import { METRICS } from "../../trainer/choose/evaluate/metrics.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import { samplePositions, seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { reorderItems } from "../../trainer/read/dataset/reorder-items.ts";
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

/**
 * Hides a tenth of the items from training and ranks only the hidden ones, for users with both kinds. Mean of three
 * seeds.
 */
export async function coldFigures(set: (typeof COLD_TASKS)[number], say: (line: string) => void): Promise<Figure[]> {
  let [recall, ndcg] = [0, 0];
  for (const seed of SEEDS) {
    const judged = await coldRun(set, seed);
    say(`  ${set}.cold, seed ${seed}: recall ${judged.recall.toFixed(4)}, ndcg ${judged.ndcg.toFixed(4)}`);
    recall += judged.recall / SEEDS.length;
    ndcg += judged.ndcg / SEEDS.length;
  }
  const name = `quality.${set}.cold.attribute_ridge`;
  return [
    compared(`${name}.recall@${K}`, "share", recall, REFERENCES[set][0]),
    compared(`${name}.ndcg@${K}`, "share", ndcg, REFERENCES[set][1]),
  ];
}

async function coldRun(set: RealDataSet, seed: number) {
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

  const method = METHODS.attribute_ridge!;
  const params = { ...method.grid(data)[0]!, neighbours: all.itemCount };
  const fitted = await method.fit(data, params, benchContext(lot));
  const scorer = await openScorer(fitted.export({ weightBytesMax: 1e10 }), all.itemCount);

  const users = Array.from({ length: all.userCount }, (_, user) => {
    const items = [...all.items.subarray(all.userStart[user], all.userStart[user + 1])] as ItemIndex[];
    return {
      known: items.filter((item) => !isHidden[item]),
      relevant: new Set(items.filter((item) => isHidden[item])),
    };
  }).filter(({ known, relevant }) => known.length > 0 && relevant.size > 0);
  const chosen = samplePositions(users.length, USERS_MAX, lot);
  let [recall, ndcg] = [0, 0];
  for (const at of chosen) {
    const { known, relevant } = users[at]!;
    const items = known.slice(-HISTORY_MAX);
    const scores = await scorer.score({ items, agesDays: items.map(() => 0) });
    const ranked = topK(scores, K, (item) => isHidden[item] === 1);
    recall += METRICS.recall(ranked, relevant, K) / chosen.length;
    ndcg += METRICS.ndcg(ranked, relevant, K) / chosen.length;
  }
  await scorer.close();
  return { recall, ndcg };
}
