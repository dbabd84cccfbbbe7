/** Groups of DuckDB's column types. */
import { DuckDBTypeId } from "@duckdb/node-api";

type Types = ReadonlySet<DuckDBTypeId>;

/** Integers of 64 bits or more, which a double cannot hold exactly. */
export const LONG_INTEGERS: Types = new Set([
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.UHUGEINT,
]);
/** Integers of a fixed width. */
export const INTEGERS: Types = new Set([
  ...LONG_INTEGERS,
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.UTINYINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
]);
export const NUMBERS: Types = new Set([...INTEGERS, DuckDBTypeId.FLOAT, DuckDBTypeId.DOUBLE, DuckDBTypeId.DECIMAL]);
/** Times without a zone, which are read as UTC. */
export const LOCAL_TIMES: Types = new Set([
  DuckDBTypeId.DATE,
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
]);
export const TIMES: Types = new Set([...LOCAL_TIMES, DuckDBTypeId.TIMESTAMP_TZ]);
