/**
 * Lists of a batch against single native calls, at 100,000 items: the same users, model and rank rule in one process, in turns, each on one
 * thread. A batch also makes the published scores, which the single calls do not.
 */
import type { ItemId, ItemIndex, UserId } from "../../shared/ids.ts";
import { rank } from "../../shared/rank.ts";
import type { Snapshot, UserRecord } from "../../shared/snapshot.ts";
import { openBatchScorer } from "../../trainer/learn/scoring/batch-scorer.ts";
import { openHeadScorer } from "../../trainer/learn/scoring/head-scorer.ts";
import { openScorer, type Scorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { type BatchRequest, listsOf } from "../../trainer/run/batch-lists.ts";
import type { StoredVersion } from "../../trainer/run/stored-version.ts";
import { type Bench, compared, type Figure, quantile } from "./bench.ts";
import { drawnWorld, HISTORY_MAX, PER_USER } from "./edge-scale-world.ts";

const ITEMS = 100_000;
const USERS = 4096;
/** Users for whom the slower ways make lists. */
const SOME_USERS = 256;
const ROUNDS = 7;
const LIMIT = 20;
const NOW = 1000;
/** The default budget of a model keeps vectors of 100,000 items as bytes. */
const FORMS = { bytes: 24_000_000, float32: 80_000_000 } as const;
const RATIO_MIN = 5;

export const batches: Bench = async ({ say, fail }) => {
  const figures: Figure[] = [];
  for (const [form, weightBytesMax] of Object.entries(FORMS)) {
    const { exported, historyOf } = drawnWorld({ label: form, itemCount: ITEMS, userCount: 1, weightBytesMax });
    const records = Array.from({ length: USERS }, (_, user) => recordOf(historyOf(user, PER_USER)));
    const single = await openScorer(exported, ITEMS);
    const heads = (await openHeadScorer(exported, ITEMS, { threads: 1 }))!;
    const batch = await openBatchScorer(exported, ITEMS, { threads: 1 });
    const version = versionOf(records);
    const singly = async () => {
      const lists: string[][] = [];
      for (const record of records.slice(0, SOME_USERS)) {
        const snapshot = { ...snapshotOf(record), score: single.score };
        lists.push((await rank({ ...REQUEST, userId: "u" as UserId, nowSeconds: NOW }, snapshot)).items.map(String));
      }
      return lists;
    };
    type Way = { scorer: Pick<Scorer, "score">; heads?: typeof heads };
    const together = (userCount: number, count: number, by: Way) => async () => {
      const lists: string[][] = [];
      for (let first = 0; first < userCount; first += count) {
        const users = records.slice(first, first + count).map((_, i) => String(first + i) as UserId);
        const asked = users.map((id) => ({ id, others: [], live: [] }));
        const rows = await listsOf(asked, { version, request: { ...REQUEST, wanted: WANTED }, nowSeconds: NOW, ...by });
        const byUser = Map.groupBy(rows, ({ user }) => user);
        lists.push(...users.map((user) => byUser.get(user)!.map(({ item }) => item)));
      }
      return lists;
    };
    const ways = {
      batch: together(USERS, heads.count, { scorer: single, heads }),
      all_scores: together(SOME_USERS, batch.count, { scorer: batch }),
    };
    const rates = { single: [] as number[], batch: [] as number[], all_scores: [] as number[] };
    for (let round = 0; round <= ROUNDS; round++) {
      const [expected, ofSingle] = await listsPerSecond(singly);
      if (round > 0) rates.single.push(ofSingle); // the first round warms up
      for (const [name, work] of Object.entries(ways) as [keyof typeof ways, (typeof ways)["batch"]][]) {
        const [lists, rate] = await listsPerSecond(work);
        if (round > 0) rates[name].push(rate);
        const different = expected.filter((list, user) => list.join() !== lists[user]!.join()).length;
        if (different > (form === "bytes" ? 0 : FLOAT_DIFFERENT_MAX))
          fail(`batches: ${different} lists differ from those of single calls (${form}, ${name})`);
      }
    }
    const median = (of: readonly number[]) => quantile(of, 0.5);
    const figure = (name: string, of: readonly number[]) => {
      const made = compared(`batches.${name}.100k.${form}`, "lists/s", median(of), median(rates.single));
      const ratio = quantile(
        of.map((rate, round) => rate / rates.single[round]!),
        0.5,
      );
      figures.push({ ...made, ratio });
      say(
        `  ${name}, ${form}: ${ratio.toFixed(1)} times the lists of single calls, which are ${Math.round(median(rates.single))} a CPU second`,
      );
      return ratio;
    };
    const ratio = figure("lists_per_second", rates.batch);
    figure("lists_per_second_with_all_scores", rates.all_scores);
    if (ratio < RATIO_MIN) fail(`batches: ${ratio.toFixed(1)} times single calls, not ${RATIO_MIN} (${form})`);
    await Promise.all([single.close(), heads.close(), batch.close()]);
  }
  return figures;
};

/** Sums of float32 products are rounded in another order, so that neighbours may be exchanged. */
const FLOAT_DIFFERENT_MAX = 0.01 * SOME_USERS;
const WANTED = { scores: true, reasons: false };
const REQUEST = {
  session: [],
  filter: undefined,
  limit: LIMIT,
  excludeSeen: true,
} as unknown as BatchRequest;

/** Lists per second of processor time, since other programs work on the machine. */
async function listsPerSecond(work: () => Promise<string[][]>): Promise<[string[][], number]> {
  const begin = process.cpuUsage();
  const lists = await work();
  const { user, system } = process.cpuUsage(begin);
  return [lists, (1e6 * lists.length) / (user + system)];
}

function recordOf(items: readonly ItemIndex[]): UserRecord {
  const seen = new Set(items);
  return { items, times: items.map((_, i) => i), hasSeen: (item) => seen.has(item) };
}

const snapshotOf = (record: UserRecord | undefined): Omit<Snapshot, "score"> => ({
  version: "bench",
  itemCount: ITEMS,
  itemIdType: "string",
  historyMax: HISTORY_MAX,
  indexOf: () => undefined,
  idAt: String as unknown as (item: ItemIndex) => ItemId,
  userRecord: async () => record,
  compileFilter: () => () => true,
});

/** A version whose users are known by their numbers. */
const versionOf = (records: readonly UserRecord[]) =>
  ({
    manifest: { item_count: ITEMS },
    hashOf: (user: UserId) => ({ high: 0, low: Number(user) }),
    recordOf: async ({ low }: { low: number }) => records[low],
    snapshotOf: (scorer: Pick<Scorer, "score">, record: UserRecord | undefined) => ({
      ...snapshotOf(record),
      score: (history: Parameters<Scorer["score"]>[0]) => scorer.score(history),
    }),
  }) as unknown as StoredVersion;
