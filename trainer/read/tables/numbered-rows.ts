import { DuckDBMapType, DuckDBStructType, type DuckDBType, VARCHAR } from "@duckdb/node-api";
import { identifier } from "../connectors/sql-text.ts";
import type { Column, Rows } from "./extended-json.ts";

/** The values of a column's object whose keys are the numbers of rows. */
type Values = { readonly sql: string; readonly type: DuckDBType };

/**
 * The rows of a file that is one object of columns, `{"user": {"0": "ann", "1": "bob"}, "item": {…}}`, as `to_json` of pandas writes them.
 * Another table is returned as it is.
 */
export function numberedRows({ table, columns }: Rows): Rows {
  const values = columns.map(valuesOf);
  if (columns.length < 2 || values.includes(undefined)) return { table, columns };
  const selected = columns.map(({ name }, i) => `unnest(${values[i]!.sql}) AS ${identifier(name)}`);
  return {
    table: `(SELECT ${selected.join(", ")} FROM ${table})`,
    columns: columns.map(({ name }, i) => ({ name, type: values[i]!.type })),
  };
}

function valuesOf({ name, type }: Column): Values | undefined {
  const sql = identifier(name);
  if (type instanceof DuckDBMapType) return { sql: `map_values(${sql})`, type: type.valueType };
  // DuckDB reads few keys as fields.
  if (!(type instanceof DuckDBStructType) || !type.entryNames.every((key) => /^\d+$/.test(key))) return undefined;
  const [first, ...others] = type.entryTypes as readonly DuckDBType[];
  const value = others.some((other) => String(other) !== String(first)) ? VARCHAR : first!;
  return { sql: `map_values(CAST(to_json(${sql}) AS MAP(VARCHAR, ${value})))`, type: value };
}
