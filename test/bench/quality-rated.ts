import { casesOfSplit } from "../../trainer/choose/evaluate/evaluation-cases.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import type { Params } from "../../trainer/learn/model.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { rowsWhere } from "../../trainer/read/dataset/split.ts";
import { type RealDataSet, readRealData } from "../fixtures/real-data.ts";
import { compared, type Figure } from "./bench.ts";
import { benchContext, judge } from "./quality-judge.ts";

/** Data sets with ratings. */
export const RATED_TASKS = ["ml-100k", "ml-1m"] as const satisfies readonly RealDataSet[];

const METHOD = "local_ridge";
const SEEDS = [1, 2] as const;
const TEST_SHARE = 0.2;
const K = 20;

/**
 * The value of ratings: a fifth of all rows is held out at random, and films of four stars and more are to be found.
 * Compares learning from ratings with learning from positives only. Mean of the splits.
 */
export async function ratedFigures(set: (typeof RATED_TASKS)[number], say: (line: string) => void): Promise<Figure[]> {
  const { dataset } = await readRealData(set, { rated: true });
  const sums = { with: [0, 0], without: [0, 0] };
  for (const seed of SEEDS) {
    const lot = seededRandom(seed);
    const isTest = Uint8Array.from(dataset.items, () => (lot() < TEST_SHARE ? 1 : 0));
    const train = rowsWhere(dataset, (row) => !isTest[row]);
    const targets = rowsWhere(dataset, (row) => isTest[row] === 1 && dataset.positive[row] === 1);
    const cases = casesOfSplit(train, targets, { withHistoryOnly: true });
    const { itemAttributes, userAttributes } = dataset;
    const method = METHODS[METHOD]!;
    const [rated, plain] = method.grid({ ...train, itemAttributes, userAttributes }) as [Params, Params];
    for (const [name, params] of [
      ["with", rated],
      ["without", plain],
    ] as const) {
      const fitted = await method.fit({ ...train, itemAttributes, userAttributes }, params, benchContext(lot));
      const { recall, ndcg } = await judge(fitted, cases, { k: K });
      say(`  ${set}.rated, seed ${seed}, ${name} ratings: recall ${recall.toFixed(4)}, ndcg ${ndcg.toFixed(4)}`);
      for (const [i, value] of [recall, ndcg].entries()) sums[name][i]! += value / SEEDS.length;
    }
  }
  return (["recall", "ndcg"] as const).map((metric, i) =>
    compared(`quality.${set}.rated.${METHOD}.${metric}@${K}`, "share", sums.with[i]!, sums.without[i]!),
  );
}
