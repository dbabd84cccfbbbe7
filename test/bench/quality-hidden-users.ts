import type { ItemIndex } from "../../shared/ids.ts";
import { topK } from "../../shared/top-k.ts";
import { decodeUserValues } from "../../shared/user-values.ts";
import { METRICS } from "../../trainer/choose/evaluate/metrics.ts";
import { popularityOrder } from "../../trainer/choose/splits/validation.ts";
import { chooseUserValues } from "../../trainer/choose/users-without-history/choose-user-values.ts";
import { refitUserValues } from "../../trainer/choose/users-without-history/serve-user-values.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";
import { reorderItems } from "../../trainer/read/dataset/reorder-items.ts";
import { rowsWhere } from "../../trainer/read/dataset/split.ts";
import { codesOfUsers, userValueTable } from "../../trainer/read/dataset/user-value-table.ts";
import { type RealDataSet, readRealData } from "../fixtures/real-data.ts";
import { compared, type Figure } from "./bench.ts";

/** Data sets with user attributes. */
export const HIDDEN_USER_TASKS = ["ml-100k", "ml-1m"] as const satisfies readonly RealDataSet[];

/** On a small set one split has too few hidden users, so several are averaged. */
const SEEDS = { "ml-100k": [1, 2, 3, 4, 5], "ml-1m": [1] } as const;
const HIDDEN_SHARE = 0.2;
const LIST_LENGTH = 20;

/**
 * Hides a fifth of the users. The use of attributes is chosen and learnt from the others as in training, then
 * evaluated on the choices of the hidden users (four stars and more) against popularity. Mean of the splits.
 */
export async function hiddenUserFigures(
  set: (typeof HIDDEN_USER_TASKS)[number],
  say: (line: string) => void,
): Promise<Figure[]> {
  const { dataset } = await readRealData(set, { withAttributes: true });
  const seeds = SEEDS[set];
  const sums = { attributes: [0, 0], popularity: [0, 0] };
  for (const seed of seeds) {
    const { users, ...judged } = await hiddenRun(dataset, seed);
    for (const name of ["attributes", "popularity"] as const) {
      const [ndcg, recall] = judged[name];
      say(
        `  ${set}.hidden-users, seed ${seed}, ${users} users, ${name}: ndcg ${ndcg.toFixed(4)}, recall ${recall.toFixed(4)}`,
      );
      sums[name][0]! += ndcg / seeds.length;
      sums[name][1]! += recall / seeds.length;
    }
  }
  return ["ndcg@10", `recall@${LIST_LENGTH}`].map((metric, i) =>
    compared(`quality.${set}.hidden-users.attributes.${metric}`, "share", sums.attributes[i]!, sums.popularity[i]!),
  );
}

type Mean = readonly [ndcg: number, recall: number];

async function hiddenRun(all: Dataset, seed: number): Promise<{ attributes: Mean; popularity: Mean; users: number }> {
  const lot = seededRandom(seed);
  const isHidden = Uint8Array.from({ length: all.userCount }, () => (lot() < HIDDEN_SHARE ? 1 : 0));
  const userOfRow = new Uint32Array(all.items.length);
  for (let user = 0; user < all.userCount; user++) userOfRow.fill(user, all.userStart[user], all.userStart[user + 1]);
  const isShown = (row: number) => !isHidden[userOfRow[row]!];
  const dataset = reorderItems(all, popularityOrder(rowsWhere(all, isShown), 0, seed));
  const train = { ...dataset, ...rowsWhere(dataset, isShown) };
  const table = userValueTable(dataset.userAttributes);
  const codes = codesOfUsers(table, dataset.userAttributes, dataset.userCount);
  const signal = new AbortController().signal;
  const { choice } = await chooseUserValues({ train, codes, table, halfLifeDays: 0, seed, signal });
  const values = choice && decodeUserValues(refitUserValues(train, { table, choice, halfLifeDays: 0 }));
  const popular = Array.from({ length: LIST_LENGTH }, (_, item) => item as ItemIndex);
  const sums = { attributes: [0, 0], popularity: [0, 0], users: 0 };
  for (let user = 0; user < dataset.userCount; user++) {
    const chosen = new Set<ItemIndex>();
    for (let row = dataset.userStart[user]!; row < dataset.userStart[user + 1]!; row++)
      if (dataset.positive[row]) chosen.add(dataset.items[row] as ItemIndex);
    if (!isHidden[user] || chosen.size === 0) continue;
    const own = Array.from(
      codes.codes.subarray(codes.start[user], codes.start[user + 1]),
      (code) => choice?.values.indexOf(code) ?? -1,
    );
    const served = own.filter((code) => code >= 0);
    const byValues = values && served.length > 0 ? topK(values.score(served), LIST_LENGTH) : popular;
    sums.users++;
    for (const [name, list] of [
      ["attributes", byValues],
      ["popularity", popular],
    ] as const) {
      sums[name][0]! += METRICS.ndcg(list, chosen, 10);
      sums[name][1]! += METRICS.recall(list, chosen, LIST_LENGTH);
    }
  }
  const mean = ([ndcg, recall]: readonly number[]): Mean => [ndcg! / sums.users, recall! / sums.users];
  return { attributes: mean(sums.attributes), popularity: mean(sums.popularity), users: sums.users };
}
