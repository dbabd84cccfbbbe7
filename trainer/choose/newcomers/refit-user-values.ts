import { decodeUserValues, encodeUserValues } from "../../../shared/user-values.ts";
import { countValues, userValueRatios } from "../../learn/attributes/user-value-ratios.ts";
import type { TrainingData } from "../../learn/model.ts";
import { popularityWithRecency } from "../../learn/popularity.ts";
import { codesOfUsers, type UserValueTable } from "../../read/dataset/user-value-table.ts";
import type { ServedValues } from "../lists/served.ts";
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
