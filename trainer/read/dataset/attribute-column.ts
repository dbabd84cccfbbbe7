/** What the steps that type an attribute have in common. */
import { type DuckDBType, DuckDBTypeId, VARCHAR } from "@duckdb/node-api";
import type { FeatureType } from "../../../shared/feature-type.ts";
import { DUCKDB } from "../rules/duckdb-dialect.ts";
import { stagedTimes } from "./staged-times.ts";
import type { Staging } from "./staging.ts";
import type { TextReading } from "./text-readings.ts";

export type Column = { readonly sql: string; readonly name: string; readonly type: DuckDBType };
export type Place = { readonly staging: Staging; readonly table: string };

export const TEXTS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.VARCHAR,
  DuckDBTypeId.ENUM,
  DuckDBTypeId.UUID,
  DuckDBTypeId.TIME,
  DuckDBTypeId.BIGNUM,
]);

/** Why a column is no attribute. */
export type LeftOut = { readonly leftOut: string };

/** What a column's values suggest: a type, how its texts are read, and what was guessed. */
export type Suggestion = {
  readonly type: FeatureType;
  readonly reading?: TextReading;
  readonly note?: string | undefined;
};

/** A whole number that a double would round is an id, except 2^63, which programs write for "no value". */
export const isInexact = (number: string) =>
  `(abs(${number}) > ${Number.MAX_SAFE_INTEGER} AND abs(${number}) != ${2 ** 63})`;

/** Removes blanks, and a leading U+FEFF, which DuckDB's client drops so that two values would look like one. */
export const trimmed = (text: string) => `trim(ltrim(trim(${text}), '\ufeff'))`;

/** The times of a column as epoch seconds; undefined if its type has none. Throws StageError `ambiguous_time`. */
export async function timesOf({ staging, table }: Place, { sql, name, type }: Column) {
  const isText = TEXTS.has(type.typeId);
  const rule = isText ? DUCKDB.time(trimmed(`CAST(${sql} AS VARCHAR)`), VARCHAR) : DUCKDB.time(sql, type);
  if (rule === undefined) return undefined;
  const times = await stagedTimes(staging, table, { name, rule, isAttribute: true });
  return {
    value: `CAST(${times.rule.seconds(times.unit)} AS DOUBLE)`,
    note: times.note?.slice(JSON.stringify(name).length + 1),
  };
}
