/** Types of DuckDB's columns that are read alike. */
import { DuckDBTypeId } from "@duckdb/node-api";

type Types = ReadonlySet<DuckDBTypeId>;

/** Of 64 bits or more: not every value is one of a double's. */
export const LONG_INTEGERS: Types = new Set([
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.UBIGINT,
  DuckDBTypeId.UHUGEINT,
]);
/** Of a fixed width. */
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
/** Without a zone: they mean UTC. */
export const LOCAL_TIMES: Types = new Set([
  DuckDBTypeId.DATE,
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
]);
export const TIMES: Types = new Set([...LOCAL_TIMES, DuckDBTypeId.TIMESTAMP_TZ]);
