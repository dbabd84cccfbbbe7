import type { Filter } from "../../../shared/filter/parse-filter.ts";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import type { ChoiceCounts } from "../../../shared/recent-choices.ts";
import { isBeyond, type KnownNames, type Snapshot } from "../../../shared/snapshot.ts";
import type { UserAttributes } from "../../../shared/user-values.ts";
import type { ExportedModel } from "../../learn/model.ts";
import type { Scorer } from "../../learn/scoring/onnx-scorer.ts";
import type { EvaluationCases } from "./evaluation-cases.ts";

/** A model in the form in which it is served. */
export type Served = {
  readonly exported: ExportedModel;
  readonly historyMax: number;
  /** Ranks for users without a history by their attributes; absent: they get the popular items. */
  readonly values?: ServedValues | undefined;
  /** How often items were chosen lately in the training part, for requests for trending ones. */
  readonly recentChoices?: ChoiceCounts | undefined;
};

/** Scores of items by users' attribute values (shared/user-values.ts), and the values of each user of the training part. */
export type ServedValues = {
  score(codes: readonly number[]): Float32Array | undefined;
  /** The attributes that filters may refer to. Absent: none. */
  readonly attributes?: readonly string[];
  attributesOf?(codes: readonly number[]): UserAttributes;
  codesOf(user: number): readonly number[];
};

/**
 * The snapshot of an unpublished version. Users are the numbers of the cases, and the seen filter is exact; sessions have no users. The
 * catalog is in the training part's order of popularity, so that equal scores cannot reveal what came later.
 *
 * @param names Ids and attributes of the items. Absent: ids are indices as text, and requests cannot filter.
 */
export function offlineSnapshot(
  cases: EvaluationCases,
  scorer: Scorer,
  { historyMax, values, recentChoices }: Omit<Served, "exported">,
  names: Partial<KnownNames> = {},
): Snapshot {
  return {
    itemIdType: "integer",
    historyMax,
    sessions: cases.sessions,
    indexOf: (id: ItemId) => (Number(id) < cases.itemCount ? (Number(id) as ItemIndex) : undefined),
    idAt: (item: ItemIndex) => String(item) as ItemId,
    async userRecord(user) {
      const { items, times, seen } = cases.caseAt(Number(user));
      const index = cases.userAt(Number(user));
      const codes = index === undefined ? [] : (values?.codesOf(index) ?? []);
      return { items, times, values: codes, hasSeen: (item) => seen.has(item) };
    },
    score: (history) => scorer.score(history),
    scoreByValues: values?.score,
    userAttributes: values?.attributesOf,
    recentChoices,
    repeatIntervals: cases.repeats,
    itemHours: cases.hours,
    isHidden: isBeyond(cases.listedCount ?? cases.itemCount, cases.itemCount),
    compileFilter(_query: Filter) {
      throw new Error("The offline evaluation does not filter by attributes.");
    },
    ...names,
    itemCount: cases.itemCount,
    version: "offline",
  };
}
