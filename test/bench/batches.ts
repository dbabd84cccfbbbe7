/**
 * Lists of a batch against single native calls, at 100,000 items: the same users, model and rank rule in one process, in turns. A batch
 * uses all cores, as the trainer does. Single calls follow one another on onnxruntime-node with one thread, as in an evaluation.
 */
import type { ItemId, ItemIndex, UserId } from "../../shared/ids.ts";
import { rank } from "../../shared/rank.ts";
import type { Snapshot } from "../../shared/snapshot.ts";
import { openBatchScorer } from "../../trainer/learn/scoring/batch-scorer.ts";
import { openScorer, type Scorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { type Bench, compared, type Figure, quantile } from "./bench.ts";
import { drawnWorld, HISTORY_MAX, PER_USER } from "./edge-scale-world.ts";

const ITEMS = 100_000;
const BATCHES = 8;
const ROUNDS = 5;
const LIMIT = 20;
/** The default budget of a model keeps vectors of 100,000 items as bytes. */
const FORMS = { bytes: 24_000_000, float32: 80_000_000 } as const;
const RATIO_MIN = 5;

export const batches: Bench = async ({ say, fail }) => {
  const figures: Figure[] = [];
  for (const [form, weightBytesMax] of Object.entries(FORMS)) {
    const { exported, historyOf } = drawnWorld({ label: form, itemCount: ITEMS, userCount: 1, weightBytesMax });
    const [single, batch] = [await openScorer(exported, ITEMS), await openBatchScorer(exported, ITEMS)];
    const userCount = BATCHES * batch.count;
    const histories = Array.from({ length: userCount }, (_, user) => historyOf(user, PER_USER));
    const listOf = (user: number, scorer: Pick<Scorer, "score">) => rankedList(histories[user]!, scorer);
    const singly = async () => {
      const lists: ItemIndex[][] = [];
      for (let user = 0; user < userCount; user++) lists.push(await listOf(user, single));
      return lists;
    };
    const together = async () => {
      const lists: ItemIndex[][] = [];
      for (let first = 0; first < userCount; first += batch.count) {
        const users = Array.from({ length: batch.count }, (_, i) => first + i);
        lists.push(...(await Promise.all(users.map((user) => listOf(user, batch)))));
      }
      return lists;
    };
    const rates: { batch: number; single: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const [ours, ofBatch] = await listsPerSecond(together);
      const [theirs, ofSingle] = await listsPerSecond(singly);
      if (JSON.stringify(ours) !== JSON.stringify(theirs))
        fail(`batches: the lists differ from those of single calls (${form})`);
      if (round > 0) rates.push({ batch: ofBatch, single: ofSingle }); // the first round warms up
      say(`  ${form}: ${Math.round(ofBatch)} lists/s in batches, ${Math.round(ofSingle)} one by one`);
    }
    const median = (name: "batch" | "single") =>
      quantile(
        rates.map((rate) => rate[name]),
        0.5,
      );
    const figure = compared(`batches.lists_per_second.100k.${form}`, "lists/s", median("batch"), median("single"));
    figures.push(figure);
    if (form === "float32" && figure.ratio! < RATIO_MIN)
      fail(`batches: ${figure.ratio} times single calls, not ${RATIO_MIN}`);
    await Promise.all([single.close(), batch.close()]);
  }
  return figures;
};

async function listsPerSecond(work: () => Promise<ItemIndex[][]>): Promise<[ItemIndex[][], number]> {
  const begin = performance.now();
  const lists = await work();
  return [lists, (1000 * lists.length) / (performance.now() - begin)];
}

async function rankedList(history: readonly ItemIndex[], scorer: Pick<Scorer, "score">): Promise<ItemIndex[]> {
  const seen = new Set(history);
  const snapshot: Snapshot = {
    version: "bench",
    itemCount: ITEMS,
    itemIdType: "string",
    historyMax: HISTORY_MAX,
    indexOf: () => undefined,
    idAt: String as unknown as (item: ItemIndex) => ItemId,
    userRecord: async () => ({ items: history, times: history.map((_, i) => i), hasSeen: (item) => seen.has(item) }),
    score: scorer.score,
    compileFilter: () => () => true,
  };
  const request = {
    userId: "u" as UserId,
    session: [],
    filter: undefined,
    limit: LIMIT,
    excludeSeen: true,
    nowSeconds: 1000,
  };
  return (await rank(request, snapshot)).items;
}
