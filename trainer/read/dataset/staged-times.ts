import { DUCKDB } from "../rules/duckdb-dialect.ts";
import { type TimeColumn, type TimeReading, timeReadingOf } from "../rules/time-reading.ts";
import { readRow, type Staging } from "./staging.ts";

type Column = Omit<TimeColumn, "readRow">;

/** How the times in a column of a staged table are read. Throws StageError `ambiguous_time`. */
export const stagedTimes = (staging: Staging, table: string, column: Column): Promise<TimeReading> =>
  timeReadingOf(DUCKDB, { ...column, readRow: (sql) => readRow(staging, `SELECT ${sql} FROM ${table}`) });
