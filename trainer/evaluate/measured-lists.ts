/** Figures of the lists in a detail file, for some of its users or items. */
import type { MeasuredMean } from "../../shared/evaluation-report.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { type BootstrapOptions, bootstrapMeans } from "./bootstrap.ts";
import type { EvaluationDetail } from "./evaluation-detail.ts";
import { toMeasured } from "./judged.ts";
import { METRICS, type MetricName } from "./metrics.ts";

/** By metric and cut-off, one value per user. */
export type Values = ReadonlyMap<string, Float64Array>;

/** Means with intervals. */
export function measuredBy(values: Values, options: BootstrapOptions): Record<string, MeasuredMean> {
  const intervals = bootstrapMeans([...values.values()], options);
  return Object.fromEntries([...values.keys()].map((name, i) => [name, toMeasured(intervals[i]!)]));
}

const relevantOf = ({ relevant, relevantStart }: EvaluationDetail, user: number): readonly ItemIndex[] =>
  Array.from(relevant.subarray(relevantStart[user]!, relevantStart[user + 1]!)) as ItemIndex[];

const listOf = ({ listLength }: EvaluationDetail, lists: Int32Array, user: number): readonly ItemIndex[] =>
  Array.from(lists.subarray(user * listLength, (user + 1) * listLength)).filter((item) => item >= 0) as ItemIndex[];

/** Every metric of the lists of some users. */
export function metricsOf(detail: EvaluationDetail, lists: Int32Array, users: Uint32Array): Values {
  const values = new Map<string, Float64Array>();
  for (const k of detail.cutOffs) {
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const metric = METRICS[name];
      const of = (user: number) => metric(listOf(detail, lists, user), new Set(relevantOf(detail, user)), k);
      values.set(`${name}@${k}`, Float64Array.from(users, of));
    }
  }
  return values;
}

type AskedItems = { readonly users: Uint32Array; readonly isAsked: ReadonlySet<ItemIndex> };

/** The recall of some items alone, for users who chose one of them. */
export function recallOf(detail: EvaluationDetail, lists: Int32Array, { users, isAsked }: AskedItems): Values {
  const of = (user: number, k: number) => {
    const relevant = new Set(relevantOf(detail, user).filter((item) => isAsked.has(item)));
    return METRICS.recall(listOf(detail, lists, user), relevant, k);
  };
  return new Map(detail.cutOffs.map((k) => [`recall@${k}`, Float64Array.from(users, (user) => of(user, k))]));
}

/** Users who chose one of the items. */
export function usersWho(detail: EvaluationDetail, isAsked: ReadonlySet<ItemIndex>): Uint32Array {
  const users = Uint32Array.from(detail.users.keys());
  return users.filter((user) => relevantOf(detail, user).some((item) => isAsked.has(item)));
}

/** The share of all places of the lists that some items take, by cut-off. */
export function shareShown(detail: EvaluationDetail, lists: Int32Array, isAsked: ReadonlySet<ItemIndex>) {
  const shares = detail.cutOffs.map((k) => {
    let [asked, places] = [0, 0];
    for (const [at, item] of lists.entries()) {
      if (item < 0 || at % detail.listLength >= k) continue;
      places++;
      if (isAsked.has(item as ItemIndex)) asked++;
    }
    return [`@${k}`, places === 0 ? null : asked / places] as const;
  });
  return Object.fromEntries(shares);
}
