import { encodeUserValues } from "../../shared/user-values.ts";
import type { Dataset } from "../dataset/dataset.ts";
import { codesOfUsers, type UserValueTable } from "../dataset/user-value-table.ts";
import { popularityWithRecency } from "../models/popularity.ts";
import { countValues, userValueRatios } from "../models/user-value-ratios.ts";
import type { UserValueChoice } from "./choose-user-values.ts";

export type UserValuesToRefit = {
  readonly table: UserValueTable;
  readonly choice: UserValueChoice;
  /** Of popularity, as it orders the catalog. */
  readonly halfLifeDays: number;
};

/** The chosen values learnt from all data, as the file of a version. The catalog must be in its final order. */
export function refitUserValues(dataset: Dataset, { table, choice, halfLifeDays }: UserValuesToRefit): Uint8Array {
  const codes = codesOfUsers(table, dataset.userAttributes, dataset.userCount);
  const statistics = countValues(dataset, codes, table.valueCount);
  return encodeUserValues(userValueRatios(statistics, popularityWithRecency(dataset, halfLifeDays), choice));
}
