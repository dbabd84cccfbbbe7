import type { Filter } from "../../../shared/filter/parse-filter.ts";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import type { Snapshot } from "../../../shared/snapshot.ts";
import type { ExportedModel } from "../../learn/model.ts";
import type { Scorer } from "../../learn/scoring/onnx-scorer.ts";
import type { EvaluationCases } from "./evaluation-cases.ts";

/** A model in the form in which it is served. */
export type Served = {
  readonly exported: ExportedModel;
  readonly historyMax: number;
  /** How users without a history are ranked for; absent: by popularity. */
  readonly values?: ServedValues | undefined;
};

/** What users' attributes say of items (shared/user-values.ts), and which values each user of the training part has. */
export type ServedValues = {
  score(codes: readonly number[]): Float32Array;
  codesOf(user: number): readonly number[];
};

/**
 * A version that is not published: the users are the cases by their number, the seen filter is exact, and the catalog is
 * the training part's, in its order of popularity, so that equal scores cannot tell what came later. Ids are indices as text.
 */
export function offlineSnapshot(
  cases: EvaluationCases,
  scorer: Scorer,
  { historyMax, values }: Omit<Served, "exported">,
): Snapshot {
  return {
    version: "offline",
    itemCount: cases.itemCount,
    itemIdType: "integer",
    historyMax,
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
    compileFilter(_query: Filter) {
      throw new Error("The offline evaluation does not filter by attributes.");
    },
  };
}
