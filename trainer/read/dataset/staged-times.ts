import type { TimeRule, TimeUnit } from "../rules/dialect.ts";
import { DUCKDB } from "../rules/duckdb-dialect.ts";
import { timeUnitOf } from "../rules/row-rules.ts";
import { readRow, type Staging } from "./staging.ts";

/** The unit of the times in a table's column. */
export const stagedTimeUnit = (staging: Staging, table: string, time: TimeRule): Promise<TimeUnit> =>
  timeUnitOf(DUCKDB, time, (counts) => readRow(staging, `SELECT ${counts} FROM ${table}`));
