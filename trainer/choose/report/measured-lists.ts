/** Figures of the lists in a detail file, for some of its users or items. */
import type { MeasuredMean } from "../../../shared/evaluation-report.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { type BootstrapOptions, bootstrapMeans, toMeasured } from "../evaluate/bootstrap.ts";
import { METRICS, type MetricName } from "../evaluate/metrics.ts";
import type { EvaluationDetail } from "./evaluation-detail.ts";

/** One value for each user, by metric and cut-off. */
export type Values = ReadonlyMap<string, Float64Array>;

/** Means with intervals of each part. All parts have the same users, who are resampled once for all parts. */
export function measuredBy(parts: readonly Values[], options: BootstrapOptions): Record<string, MeasuredMean>[] {
  const intervals = bootstrapMeans(
    parts.flatMap((values) => [...values.values()]),
    options,
  ).values();
  return parts.map((values) =>
    Object.fromEntries([...values.keys()].map((name) => [name, toMeasured(intervals.next().value!)])),
  );
}

/** A number for the owner of each list; a user may own several. A session's list has an owner of its own. */
export function ownersOf({ users }: EvaluationDetail, lists: ArrayLike<number>): Uint32Array {
  const numbers = new Map<bigint, number>();
  return Uint32Array.from(lists, (at) => {
    const user = users[at]!;
    if (user === 0n) return at;
    if (!numbers.has(user)) numbers.set(user, users.length + numbers.size);
    return numbers.get(user)!;
  });
}

const relevantOf = ({ relevant, relevantStart }: EvaluationDetail, user: number): readonly ItemIndex[] =>
  Array.from(relevant.subarray(relevantStart[user]!, relevantStart[user + 1]!)) as ItemIndex[];

const listOf = ({ listLength }: EvaluationDetail, lists: Int32Array, user: number): readonly ItemIndex[] =>
  Array.from(lists.subarray(user * listLength, (user + 1) * listLength)).filter((item) => item >= 0) as ItemIndex[];

/** Every metric of the lists of some users. */
export function metricsOf(detail: EvaluationDetail, lists: Int32Array, users: Uint32Array): Values {
  const columns = detail.cutOffs.flatMap((k) =>
    (Object.keys(METRICS) as MetricName[]).map((name) => ({ name, k, values: new Float64Array(users.length) })),
  );
  for (const [i, user] of users.entries()) {
    const list = listOf(detail, lists, user);
    const relevant = new Set(relevantOf(detail, user));
    for (const { name, k, values } of columns) values[i] = METRICS[name](list, relevant, k);
  }
  return new Map(columns.map(({ name, k, values }) => [`${name}@${k}`, values]));
}

/** The values of some of the users. */
export const valuesOf = (values: Values, users: Uint32Array): Values =>
  new Map([...values].map(([name, all]) => [name, Float64Array.from(users, (user) => all[user]!)]));

/** The places where lists show a target. User u's hits are start[u] … start[u + 1] − 1, the best place first. */
export type Hits = {
  readonly start: Uint32Array; // [userCount + 1]
  readonly items: readonly ItemIndex[];
  readonly ranks: readonly number[]; // from 0
};

export function hitsOf(detail: EvaluationDetail, lists: Int32Array): Hits {
  const start = new Uint32Array(detail.users.length + 1);
  const items: ItemIndex[] = [];
  const ranks: number[] = [];
  for (let user = 0; user < detail.users.length; user++) {
    const relevant = new Set(relevantOf(detail, user));
    for (const [rank, item] of listOf(detail, lists, user).entries()) {
      if (!relevant.has(item)) continue;
      items.push(item);
      ranks.push(rank);
    }
    start[user + 1] = items.length;
  }
  return { start, items, ranks };
}

/** 1 for each wanted item: [itemCount]. */
export type ItemMask = Uint8Array;

export function maskOf({ itemIds }: EvaluationDetail, items: readonly number[]): ItemMask {
  const mask = new Uint8Array(itemIds.start.length - 1);
  for (const item of items) mask[item] = 1;
  return mask;
}

/** Users who chose one of the items, and how many of the items each user chose. */
export type Choosers = { readonly users: Uint32Array; readonly counts: Uint32Array };

export function usersWho({ users, relevant, relevantStart }: EvaluationDetail, isWanted: ItemMask): Choosers {
  const found: number[] = [];
  const counts: number[] = [];
  for (let user = 0; user < users.length; user++) {
    let count = 0;
    for (let at = relevantStart[user]!; at < relevantStart[user + 1]!; at++) count += isWanted[relevant[at]!]!;
    if (count === 0) continue;
    found.push(user);
    counts.push(count);
  }
  return { users: Uint32Array.from(found), counts: Uint32Array.from(counts) };
}

/** The recall of the wanted items only, for users who chose one of them. */
export function recallOf({ cutOffs }: EvaluationDetail, hits: Hits, isWanted: ItemMask, who: Choosers): Values {
  const { start, items, ranks } = hits;
  const of = (k: number) =>
    Float64Array.from(who.users, (user, i) => {
      let found = 0;
      for (let at = start[user]!; at < start[user + 1]!; at++) if (ranks[at]! < k) found += isWanted[items[at]!]!;
      return found / who.counts[i]!;
    });
  return new Map(cutOffs.map((k) => [`recall@${k}`, of(k)]));
}

/** The number of the first `k` places that each item takes: [itemCount], and the number of all places. */
export function placesOf({ itemIds, listLength }: EvaluationDetail, lists: Int32Array, k: number) {
  const counts = new Uint32Array(itemIds.start.length - 1);
  let all = 0;
  for (let at = 0; at < lists.length; at++) {
    if (lists[at]! < 0 || at % listLength >= k) continue;
    counts[lists[at]!]!++;
    all++;
  }
  return { counts, all };
}

/** The fraction of all places that some distinct items take; null without places. */
export function fractionOfPlaces(
  { counts, all }: ReturnType<typeof placesOf>,
  items: readonly number[],
): number | null {
  return all === 0 ? null : items.reduce((sum, item) => sum + counts[item]!, 0) / all;
}
