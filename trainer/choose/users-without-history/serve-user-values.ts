import { decodeUserValues, encodeUserValues } from "../../../shared/user-values.ts";
import { countValues, userValueRatios } from "../../learn/attributes/user-value-ratios.ts";
import type { TrainingData } from "../../learn/model.ts";
import { popularityWithRecency } from "../../learn/popularity.ts";
import { codesOfUsers, type UserValueTable } from "../../read/dataset/user-value-table.ts";
import { type EvaluateOptions, evaluate } from "../evaluate/evaluate.ts";
import { joined, restrictedTo } from "../evaluate/evaluation-figures.ts";
import type { ServedValues } from "../evaluate/offline-snapshot.ts";
import type { Validation } from "../splits/validation.ts";
import type { Trial } from "../tries/trial.ts";
import type { UserValueChoice } from "./choose-user-values.ts";

export type UserValuesToRefit = {
  readonly table: UserValueTable;
  readonly choice: UserValueChoice;
  /** Of popularity, as it orders the catalog. */
  readonly halfLifeDays: number;
};

/** The chosen values learnt from all of some data, as the file of a version. The catalog must be in its final order. */
export function refitUserValues(data: TrainingData, { table, choice, halfLifeDays }: UserValuesToRefit): Uint8Array {
  const codes = codesOfUsers(table, data.userAttributes, data.userCount);
  const statistics = countValues(data, codes, table.valueCount);
  return encodeUserValues(userValueRatios(statistics, popularityWithRecency(data, halfLifeDays), choice));
}

/** The same as it is served to the users of the data. */
export function servedValues(data: TrainingData, values: UserValuesToRefit): ServedValues {
  const { score } = decodeUserValues(refitUserValues(data, values));
  const { start, codes } = codesOfUsers(values.table, data.userAttributes, data.userCount);
  const newCode = new Map(values.choice.values.map((code, position) => [code, position]));
  const codesOf = (user: number) =>
    Array.from(codes.subarray(start[user], start[user + 1])).flatMap((code) => newCode.get(code) ?? []);
  return { score, codesOf };
}

/**
 * A trial as it is served where users' attributes are: the lists of users without a history are made by them, all others stay. It was
 * compared with others without, since attributes would help each of them alike.
 */
export async function withServedValues(
  trial: Trial,
  { split: { cases } }: Validation,
  { values, ...options }: Omit<EvaluateOptions, "positions"> & { readonly values: ServedValues | undefined },
): Promise<Trial> {
  if (values === undefined) return trial;
  const { positions } = trial.evaluation;
  const isNew = (at: number) => cases.caseAt(at).items.length === 0;
  const newcomers = positions.filter(isNew);
  if (newcomers.length === 0) return trial;
  const own = await evaluate(cases, { ...trial.served, values }, { ...options, positions: newcomers });
  const others = restrictedTo(
    trial.evaluation,
    positions.filter((at) => !isNew(at)),
  );
  return { ...trial, evaluation: joined(others, own) };
}
