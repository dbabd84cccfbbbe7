/**
 * `npm run bench -- lists`: the lists that are no personal ones, each judged by what came later on real data.
 *
 * - trending: MovieLens-1M, users with real times. Every two days, 20 items by `strategy: trending` and by choices of the last 48 hours;
 *   the figure is the part of them whose share of choices in the next 48 hours is at least 1.5 times that of the 28 days before.
 * - together: retailrocket. One item of a test session is left out; the figure is how often it is among 20 that go with the others.
 * - again: what is chosen again, in retailrocket's sessions or in given files of orders (again.ts).
 *
 *     --part=trending   or together, or again; all by default
 *     --every=5         every fifth left-out item
 *     --part=again --train=FILE --test=FILE   orders: each user's first visit of the test file follows those of the train file
 */
import { join } from "node:path";
import type { ItemId, ItemIndex } from "../../shared/ids.ts";
import { stringAt } from "../../shared/packed-strings.ts";
import { trendingScores } from "../../shared/rank/trending.ts";
import { rank } from "../../shared/rank.ts";
import { decodeSimilarity } from "../../shared/similarity.ts";
import type { History, Snapshot } from "../../shared/snapshot.ts";
import { decodeTogether, encodeTogether } from "../../shared/together.ts";
import { type FilesToRead, readFiles } from "../../trainer/choose/files/read-files.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { countRecentChoices } from "../../trainer/learn/statistics/recent-choices.ts";
import { basketsOf, itemsTogether } from "../../trainer/publish/items-together.ts";
import { measureSimilarity } from "../../trainer/publish/measure-similarity.ts";
import type { Interactions } from "../../trainer/read/dataset/dataset.ts";
import { rowsWhere } from "../../trainer/read/dataset/split.ts";
import { missingRealData, readRealData, realDataFolder } from "../fixtures/real-data.ts";
import { againInOrders, againInSessions } from "./again.ts";
import { type Bench, compared, type Figure } from "./bench.ts";
import { BUDGET, benchContext } from "./quality-judge.ts";

const DAY = 86_400;
const LIST = 20;
const REAL_ID_MAX = 2999; // users of MovieLens-1M with ids up to this one have real times
const GROWN = 1.5;
const WALK = "session_walk";

export const lists: Bench = async ({ say, flags }) => {
  const part = flags.get("part");
  const [train, test] = [flags.get("train"), flags.get("test")];
  if (part === "again" && train && test) return againInOrders(await readOrders({ train, test }));
  const again = async () => againInSessions((await sessions()).test);
  const parts = { trending, together: () => together(Number(flags.get("every") ?? 5)), again };
  const figures: Figure[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    const missing = missingRealData(name === "trending" ? "ml-1m" : "retailrocket");
    if (missing) say(`  ${name}: ${missing}`);
    else if (part === undefined || part === name) figures.push(...(await measure()));
  }
  return figures;
};

const bestOf = (values: ArrayLike<number>, count: number) =>
  Array.from(values, (_, item) => item)
    .sort((a, b) => values[b]! - values[a]! || a - b)
    .slice(0, count);
const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

async function trending(): Promise<Figure[]> {
  const { dataset } = await readRealData("ml-1m", { everyRowPositive: true, tieOrder: "row" });
  const isReal = new Uint8Array(dataset.items.length);
  for (let user = 0; user < dataset.userCount; user++)
    if (Number(stringAt(dataset.userIds, user)) <= REAL_ID_MAX)
      isReal.fill(1, dataset.userStart[user], dataset.userStart[user + 1]);
  const data = rowsWhere(dataset, (row) => isReal[row] === 1);
  const counted = (from: number, to: number) => {
    const counts = new Float64Array(data.itemCount);
    let total = 0;
    for (const [row, time] of data.times.entries()) {
      if (time <= from || time > to) continue;
      counts[data.items[row]!]!++;
      total++;
    }
    return { counts, total };
  };
  const [own, popular]: [number[], number[]] = [[], []];
  const first = data.times.reduce((min, time) => Math.min(min, time), Number.POSITIVE_INFINITY);
  for (let at = first + 30 * DAY; at < first + 100 * DAY; at += 2 * DAY) {
    const [earlier, lately, next] = [
      counted(at - 30 * DAY, at - 2 * DAY),
      counted(at - 2 * DAY, at),
      counted(at, at + 2 * DAY),
    ];
    const hasGrown = (item: number) =>
      next.counts[item]! / next.total >= (GROWN * Math.max(1, earlier.counts[item]!)) / earlier.total;
    const recentChoices = countRecentChoices(rowsWhere(data, (row) => data.times[row]! <= at));
    const snapshot = { recentChoices, itemCount: data.itemCount } as Snapshot;
    own.push(meanOf(bestOf(trendingScores(snapshot, at).scores, LIST).map((item) => Number(hasGrown(item)))));
    popular.push(meanOf(bestOf(lately.counts, LIST).map((item) => Number(hasGrown(item)))));
  }
  return [compared(`lists.trending.precision@${LIST}`, "share", meanOf(own), meanOf(popular))];
}

async function sessions() {
  const folder = realDataFolder("retailrocket");
  return readOrders({ train: join(folder, "train.csv.gz"), test: join(folder, "test.csv.gz"), areSessions: true });
}

const readOrders = (files: Pick<FilesToRead, "train" | "test" | "areSessions">) =>
  readFiles({ ...files, columns: {} }, new AbortController().signal);

async function together(every: number): Promise<Figure[]> {
  const { train, test } = await sessions();
  const { itemCount } = train;
  const method = METHODS[WALK]!;
  const fitted = await method.fit(train, method.grid(train)[0]!, benchContext(seededRandom(1)));
  const scorer = await openScorer(fitted.export(BUDGET), itemCount);
  const snapshot: Snapshot = {
    ...{ version: "bench", itemCount, itemIdType: "integer", historyMax: fitted.historyMax },
    indexOf: (id: ItemId) => Number(id) as ItemIndex,
    idAt: (item: ItemIndex) => String(item) as ItemId,
    userRecord: async () => undefined,
    score: (history: History) => scorer.score(history),
    compileFilter: () => () => true,
    similarity: decodeSimilarity(await measureSimilarity(scorer, train, WALK)),
    together: decodeTogether(encodeTogether(itemsTogether(train, { areSessions: true })!)),
  };
  const rawRows = countsOfPairs(train);
  const hits: Record<"together" | "counts" | "similar", number[]> = { together: [], counts: [], similar: [] };
  let asked = 0;
  for (let session = 0; session < test.userCount; session++) {
    const items = [...new Set(test.items.subarray(test.userStart[session], test.userStart[session + 1]))];
    for (const wanted of items) {
      const basket = items.filter((item) => item !== wanted).slice(-20);
      if (basket.length === 0 || asked++ % every !== 0) continue;
      const ids = basket.map((item) => String(item) as ItemId);
      const request = {
        userId: undefined,
        session: [],
        filter: undefined,
        excludeSeen: true,
        nowSeconds: 0,
        limit: LIST,
      };
      const like = { ...request, basket: ids, similarTo: ids.at(-1)! };
      const isIn = (list: readonly number[]) => Number(list.includes(wanted));
      hits.together.push(isIn((await rank({ ...like, relation: "together" }, snapshot)).items));
      hits.similar.push(isIn((await rank(like, snapshot)).items));
      hits.counts.push(isIn(byCounts(basket, rawRows)));
    }
  }
  await scorer.close();
  return [
    compared(`lists.together.hit@${LIST}, against raw counts`, "share", meanOf(hits.together), meanOf(hits.counts)),
    compared(`lists.together.hit@${LIST}, against similar items`, "share", meanOf(hits.together), meanOf(hits.similar)),
  ];
}

/** By item: in how many sessions each other item was. */
function countsOfPairs(train: Interactions) {
  const { start, items, userCount } = basketsOf(train, { areSessions: true });
  const rows = new Map<number, Map<number, number>>();
  for (let basket = 0; basket < userCount; basket++) {
    const distinct = [...new Set(items.subarray(start[basket], start[basket + 1]))];
    for (const item of distinct) {
      const row = rows.get(item) ?? new Map<number, number>();
      rows.set(item, row);
      for (const other of distinct) if (other !== item) row.set(other, (row.get(other) ?? 0) + 1);
    }
  }
  return rows;
}

function byCounts(basket: readonly number[], rows: ReturnType<typeof countsOfPairs>): number[] {
  const sums = new Map<number, number>();
  for (const item of basket)
    for (const [other, count] of rows.get(item) ?? []) sums.set(other, (sums.get(other) ?? 0) + count);
  for (const item of basket) sums.delete(item);
  return [...sums]
    .sort(([a, ofA], [b, ofB]) => ofB - ofA || a - b)
    .slice(0, LIST)
    .map(([item]) => item);
}
