import { decodeUserValues, encodeUserValues } from "../../../shared/user-values.ts";
import { countValues, userValueRatios } from "../../learn/attributes/user-value-ratios.ts";
import type { TrainingData } from "../../learn/model.ts";
import { popularityWithRecency } from "../../learn/popularity.ts";
import { codesOfUsers, namesOfCodes, type UserValueTable } from "../../read/dataset/user-value-table.ts";
import { type EvaluateOptions, evaluate } from "../evaluate/evaluate.ts";
import { joined, restrictedTo } from "../evaluate/evaluation-figures.ts";
import type { ServedValues } from "../evaluate/offline-snapshot.ts";
import type { Validation } from "../splits/validation.ts";
import type { Trial } from "../tries/trial.ts";
import type { UserValueChoice } from "./choose-user-values.ts";

export type UserValuesToRefit = {
  readonly table: UserValueTable;
  /** Undefined: the values are known to filters, and score nothing. */
  readonly choice: UserValueChoice | undefined;
  /** Half-life of the popularity that orders the catalog. */
  readonly halfLifeDays: number;
};

/** The codes that a version has, by their codes in the table: those that score come first, then others that have a name. */
export function servedCodes(table: UserValueTable, choice: UserValueChoice | undefined): number[] {
  const scoring = choice?.values ?? [];
  const codes = Array.from({ length: table.valueCount }, (_, code) => code);
  const { names } = namesOfCodes(table, codes);
  return [...scoring, ...codes.filter((code) => names[code] !== null && !scoring.includes(code))];
}

/** Learns the chosen values from all of the data, as the file of a version. The catalog must be in its final order. */
export function refitUserValues(data: TrainingData, { table, choice, halfLifeDays }: UserValuesToRefit): Uint8Array {
  const names = namesOfCodes(table, servedCodes(table, choice));
  if (choice === undefined)
    return encodeUserValues({ itemCount: data.itemCount, base: new Float32Array(0), ratios: [] }, names);
  const codes = codesOfUsers(table, data.userAttributes, data.userCount);
  const statistics = countValues(data, codes, table.valueCount);
  return encodeUserValues(userValueRatios(statistics, popularityWithRecency(data, halfLifeDays), choice), names);
}

/** The same values in the form in which the users of the data are served. */
export function servedValues(data: TrainingData, values: UserValuesToRefit): ServedValues {
  const { scoreIfAny: score, attributes, attributesOf } = decodeUserValues(refitUserValues(data, values));
  const { start, codes } = codesOfUsers(values.table, data.userAttributes, data.userCount);
  const newCode = new Map(servedCodes(values.table, values.choice).map((code, position) => [code, position]));
  const codesOf = (user: number) =>
    Array.from(codes.subarray(start[user], start[user + 1])).flatMap((code) => newCode.get(code) ?? []);
  return { score, attributes, attributesOf, codesOf };
}

/**
 * A trial with the lists that users without a history are served by their attributes; all other lists stay. Trials are compared without
 * these lists, because attributes would help every method alike.
 */
export async function withServedValues(
  trial: Trial,
  { split: { cases } }: Validation,
  { values, ...options }: Omit<EvaluateOptions, "positions"> & { readonly values: ServedValues | undefined },
): Promise<Trial> {
  if (values === undefined) return trial;
  const { positions } = trial.evaluation;
  const isNew = (at: number) => cases.caseAt(at).items.length === 0;
  const withoutHistory = positions.filter(isNew);
  if (withoutHistory.length === 0) return trial;
  const own = await evaluate(cases, { ...trial.served, values }, { ...options, positions: withoutHistory });
  const others = restrictedTo(
    trial.evaluation,
    positions.filter((at) => !isNew(at)),
  );
  return { ...trial, evaluation: joined(others, own) };
}
