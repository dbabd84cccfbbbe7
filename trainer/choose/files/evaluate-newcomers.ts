import type { Dataset } from "../../read/dataset/dataset.ts";
import { pickColumn } from "../../read/dataset/reorder-items.ts";
import { type UserValueTable, userValueTable } from "../../read/dataset/user-value-table.ts";
import { mean } from "../lists/bootstrap.ts";
import { type EvaluateOptions, evaluate } from "../lists/evaluate.ts";
import type { EvaluationCases } from "../lists/evaluation-cases.ts";
import type { Served, ServedValues } from "../lists/served.ts";
import { servedValues } from "../newcomers/refit-user-values.ts";
import type { Selection } from "../select.ts";

/** How users without a history are served: what is popular, and by attributes; names as in the command's contract. */
export type NewcomerFigures = {
  readonly users: number;
  /** Whether the train file alone has shown that attributes help. */
  readonly served: boolean;
  readonly reason: string;
  readonly popularity: Readonly<Record<string, number>>;
  readonly attributes: Readonly<Record<string, number>>;
};

/** What users of the train file share; undefined where nothing is known of them. */
export function tableOfTrain(train: Dataset): UserValueTable | undefined {
  const known = Int32Array.from({ length: train.userCount }, (_, user) => user).filter(
    (user) => train.userStart[user]! < train.userStart[user + 1]!,
  );
  const table = userValueTable(train.userAttributes.map((column) => pickColumn(column, known)));
  return table.valueCount === 0 ? undefined : table;
}

/** The chosen values, learnt from the whole train file; undefined where none are served. */
export function valuesOfTrain(
  train: Dataset,
  table: UserValueTable | undefined,
  { userValues: choice, halfLifeDays }: Pick<Selection, "userValues" | "halfLifeDays">,
): ServedValues | undefined {
  if (table === undefined || choice === undefined) return undefined;
  return servedValues(train, { table, choice, halfLifeDays });
}

/**
 * The lists of users of the test file who have no train rows, with and without their attributes.
 *
 * @param served Any model: it is not asked where there is no history.
 */
export async function evaluateNewcomers(
  cases: EvaluationCases,
  { positions, ...options }: EvaluateOptions & { readonly positions: Uint32Array },
  { served, report }: { readonly served: Served; readonly report: Selection["report"]["user_attributes"] },
): Promise<NewcomerFigures | undefined> {
  if (!report) return undefined;
  const newcomers = positions.filter((at) => cases.caseAt(at).items.length === 0);
  const { values: _, ...without } = served;
  const [popularity, attributes] = await Promise.all(
    [without, served].map(async (one) => {
      const { values } = await evaluate(cases, one, { ...options, positions: newcomers });
      return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 0 ? 0 : mean(all)]));
    }),
  );
  const { served: isServed, reason } = report;
  return { users: newcomers.length, served: isServed, reason, popularity: popularity!, attributes: attributes! };
}
