/**
 * `npm run bench -- replay`: what live events add to the lists, replaying MovieLens-1M in time order. A model is chosen and fitted on the
 * first 80 %. Then the users go on as they did. Before each choice of four stars and more, the user gets a list without live events, as
 * the version knows the user, and a list with all events up to then. A third list only hides what the user has seen since, so that it
 * shows which part of the gain comes from that. In process, with the ranking and the merging of the edge.
 *
 *     --seconds=120    time to choose the model
 *     --protocol=live  how it is chosen: as for models that listen to events, or service, as for the others
 *     --users=500      a random sample of the users who go on
 *     --set=ml-1m      or ml-100k
 */
import { withLiveEvents } from "../../shared/events/live-events.ts";
import type { ItemId, ItemIndex, UserId } from "../../shared/ids.ts";
import { POPULARITY } from "../../shared/manifest.ts";
import { type RankRequest, rank } from "../../shared/rank.ts";
import type { Snapshot, UserRecord } from "../../shared/snapshot.ts";
import { bootstrapMeans } from "../../trainer/choose/evaluate/bootstrap.ts";
import { METRICS } from "../../trainer/choose/evaluate/metrics.ts";
import { popularityOrder } from "../../trainer/choose/splits/validation.ts";
import { methodNamed } from "../../trainer/learn/blends.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";
import { reorderItems } from "../../trainer/read/dataset/reorder-items.ts";
import { instantsForFractions, rowsWhere } from "../../trainer/read/dataset/split.ts";
import { countPerItem } from "../fixtures/by-popularity.ts";
import { type RealDataSet, readRealData } from "../fixtures/real-data.ts";
import { type Bench, compared } from "./bench.ts";
import { BUDGET, benchContext } from "./quality-judge.ts";
import { choiceOn } from "./quality-small.ts";

const REPLAYED_FRACTION = 0.2;
const K = 10;
const SEED = 1;
/** Every event is a view: positive from four stars on, and seen with any number. */
const MEANINGS = { liked: { label: true, seen: true }, rated: { label: false, seen: true } };

export const replay: Bench = async ({ say, flags }) => {
  const set = (flags.get("set") ?? "ml-1m") as RealDataSet;
  const all = (await readRealData(set, { tieOrder: "row" })).dataset;
  const [instant] = instantsForFractions(all, [REPLAYED_FRACTION]) as [number];
  const isKnown = (row: number) => all.times[row]! < instant;
  const dataset = reorderItems(all, popularityOrder(rowsWhere(all, isKnown), 0, SEED));
  const train = { ...dataset, ...rowsWhere(dataset, (row) => dataset.times[row]! < instant) };
  const protocol = flags.get("protocol") === "service" ? "service" : "live";
  const choice = await choiceOn(train, {
    seed: SEED,
    secondsMax: Number(flags.get("seconds") ?? 120),
    protocol,
  });
  say(
    `  ${choice.method} ${JSON.stringify(choice.params)}, fitted on ${train.items.length} of ${dataset.items.length} rows`,
  );
  const fitted = await methodNamed(choice.method, METHODS)!.fit(train, choice.params, benchContext(seededRandom(SEED)));
  const scorer = await openScorer(fitted.export(BUDGET), dataset.itemCount);
  const counts = countPerItem(train);
  const version = {
    version: "replayed",
    itemCount: dataset.itemCount,
    itemIdType: "string",
    historyMax: fitted.historyMax,
    personalizes: choice.method !== POPULARITY,
    indexOf: (id: ItemId) => (counts[Number(id)]! > 0 ? (Number(id) as ItemIndex) : undefined),
    idAt: (item: ItemIndex) => String(item) as ItemId,
    score: scorer.score,
    compileFilter: () => () => true,
  } as const;
  const usersMax = Number(flags.get("users") ?? 500);
  const lists = await replayUsers(dataset, { instant, usersMax, version });
  await scorer.close();
  return ["all", "known", "new"].flatMap((who) => {
    const own = lists.filter(({ isNew }) => who === "all" || isNew === (who === "new"));
    if (own.length === 0) return [];
    const of = (ndcgOf: (list: List) => number) => Float64Array.from(own, ndcgOf);
    const series = [
      of(({ live }) => live),
      of(({ stored }) => stored),
      of(({ hidden }) => hidden),
      of((list) => list.live - list.stored),
    ];
    const owners = own.map(({ user }) => user);
    const [live, stored, hidden, gain] = bootstrapMeans(series, { seed: SEED, owners });
    const interval = `${gain!.value.toFixed(4)} (${gain!.low.toFixed(4)} to ${gain!.high.toFixed(4)})`;
    say(`  ${who}: ${own.length} lists of ${new Set(owners).size} users, gain ${interval}`);
    const name = `replay.${set}.${who}-users`;
    return [
      compared(`${name}.ndcg@${K}`, "share", live!.value, stored!.value),
      compared(`${name}.seen_only.ndcg@${K}`, "share", hidden!.value, stored!.value),
    ];
  });
};

type List = {
  readonly user: number;
  readonly isNew: boolean;
  readonly live: number;
  readonly stored: number;
  readonly hidden: number;
};
type Replay = {
  readonly instant: number;
  readonly usersMax: number;
  readonly version: Omit<Snapshot, "userRecord">;
};

async function replayUsers(dataset: Dataset, { instant, usersMax, version }: Replay): Promise<List[]> {
  const random = seededRandom(SEED, 7);
  const going = Array.from({ length: dataset.userCount }, (_, user) => ({ user, lot: random() })).filter(
    ({ user }) => dataset.times[dataset.userStart[user + 1]! - 1]! >= instant,
  );
  const sample = going.sort((a, b) => a.lot - b.lot).slice(0, usersMax);
  const lists: List[] = [];
  for (const { user } of sample) {
    const rows = Array.from(
      { length: dataset.userStart[user + 1]! - dataset.userStart[user]! },
      (_, i) => dataset.userStart[user]! + i,
    );
    const before = rows.filter((row) => dataset.times[row]! < instant);
    const record = recordOf(dataset, before);
    for (const row of rows.slice(before.length)) {
      const target = dataset.items[row] as ItemIndex;
      if (!dataset.positive[row] || version.indexOf(version.idAt(target)) === undefined) continue;
      const events = rows.slice(before.length, row - rows[0]!).map((past) => ({
        item_id: version.idAt(dataset.items[past] as ItemIndex),
        type: dataset.positive[past] ? "liked" : "rated",
        created_at: dataset.times[past]!,
      }));
      const live = withLiveEvents(record, events, { meanings: MEANINGS, indexOf: version.indexOf }).record;
      const ndcgOf = async (known: UserRecord | undefined) => {
        const { items } = await rank(requestAt(dataset.times[row]!), { ...version, userRecord: async () => known });
        return METRICS.ndcg(items, new Set([target]), K);
      };
      const hidden = live && { ...live, items: record?.items ?? [], times: record?.times ?? [] };
      const [withEvents, without, seenOnly] = [await ndcgOf(live), await ndcgOf(record), await ndcgOf(hidden)];
      lists.push({ user, isNew: before.length === 0, live: withEvents, stored: without, hidden: seenOnly });
    }
  }
  return lists;
}

const requestAt = (nowSeconds: number): RankRequest => ({
  userId: "u" as UserId,
  limit: K,
  session: [],
  filter: undefined,
  excludeSeen: true,
  nowSeconds,
});

/** The record that a version has of a user with these rows. */
function recordOf({ items, times, positive }: Dataset, rows: readonly number[]): UserRecord | undefined {
  if (rows.length === 0) return undefined;
  const seen = new Set(rows.map((row) => items[row] as ItemIndex));
  const liked = rows.filter((row) => positive[row] === 1);
  return {
    items: liked.map((row) => items[row] as ItemIndex),
    times: liked.map((row) => times[row]!),
    hasSeen: (item) => seen.has(item),
  };
}
