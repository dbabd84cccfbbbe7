import { DuckDBDecimalType, DuckDBListType, type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import type { FeatureType } from "../../../shared/model-spec.ts";
import { LONG_INTEGERS, NUMBERS, TIMES } from "../rules/column-kinds.ts";
import { positiveWord } from "../rules/dialect.ts";
import { DUCKDB, numberOfText, shortestDigits } from "../rules/duckdb-dialect.ts";
import { stagedTimes } from "./staged-times.ts";
import { readRow, type Staging } from "./staging.ts";

/** A column of an attribute table with its type. */
export type TypedAttribute = {
  readonly name: string;
  readonly type: FeatureType;
  readonly inferred: boolean;
  /**
   * SQL of its value, NULL when missing: DOUBLE for Numerical and Timestamp (epoch seconds), UTINYINT for Boolean,
   * VARCHAR for Category and Text, VARCHAR[] for CategoryList.
   */
  readonly value: string;
};

/** Longer texts are descriptions. No filter compares them, and a Worker could not hold them. */
export const TEXT_LENGTH_MAX = 1000;
const LIST_LENGTH_MAX = 200;
const LIST_SEPARATOR = "|";
/** A text column is a list when at least this fraction of its values has a separator. */
const LIST_FRACTION_MIN = 0.1;
/** A text column is a category if its values repeat this often, or if they are few and short. */
const CATEGORY_DISTINCT_MAX = 0.5;
const CATEGORY_FEW = 20;
const CATEGORY_SHORT = 30;

type Column = { readonly sql: string; readonly name: string; readonly type: DuckDBType };
type Place = { readonly staging: Staging; readonly table: string };

const TEXTS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.VARCHAR,
  DuckDBTypeId.ENUM,
  DuckDBTypeId.UUID,
  DuckDBTypeId.TIME,
  DuckDBTypeId.BIGNUM,
]);

/**
 * The column as an attribute, with the declared type or the type that its values suggest. Undefined when values of its
 * type cannot be an attribute (structs, maps, bytes, …).
 */
export async function typeAttribute(
  place: Place,
  column: Column,
  declared: FeatureType | undefined,
): Promise<TypedAttribute | undefined> {
  const type = declared ?? (await inferType(place, column));
  if (type === undefined) return undefined;
  const value = await valueSql(place, column, type);
  if (value === undefined) return undefined;
  return { name: column.name, type, inferred: declared === undefined, value };
}

async function inferType(place: Place, column: Column): Promise<FeatureType | undefined> {
  const { sql, type } = column;
  if (type.typeId === DuckDBTypeId.BOOLEAN) return "Boolean";
  if (NUMBERS.has(type.typeId)) return (await hasInexact(place, column)) ? "Category" : "Numerical";
  if (TIMES.has(type.typeId)) return "Timestamp";
  if (isTextList(type)) return "CategoryList";
  if (!TEXTS.has(type.typeId)) return undefined;

  const text = trimmed(`CAST(${sql} AS VARCHAR)`);
  // 007 is a code and not the number 7. A number alone is no date.
  const isNumber = `(isfinite(${numberOfText("v")}) AND NOT regexp_matches(v, '^[+-]?0[0-9]'))`;
  const isTime = `(regexp_matches(v, '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]|$)') AND TRY_CAST(v AS TIMESTAMPTZ) IS NOT NULL)`;
  const row = await readRow(
    place.staging,
    `SELECT count(*) AS present, count(DISTINCT v) AS different, avg(length(v)) AS length,
       count(*) FILTER (${isNumber}) AS numbers, count(*) FILTER (${isTime}) AS times,
       count(*) FILTER ((${positiveWord("lower(v)")}) IS NOT NULL) AS booleans,
       count(*) FILTER (contains(v, '${LIST_SEPARATOR}')) AS lists,
       count(*) FILTER (regexp_matches(v, '^[+-]?[0-9]+$') AND ${isInexact("TRY_CAST(v AS DOUBLE)")}) AS inexact
     FROM (SELECT ${text} AS v FROM ${place.table}) WHERE v != ''`,
  );
  const count = (name: string) => Number(row![name]);
  const present = count("present");
  if (present === 0) return "Text";
  if (count("booleans") === present && count("numbers") < present) return "Boolean";
  if (count("numbers") === present) return count("inexact") > 0 ? "Category" : "Numerical";
  if (count("times") === present) return "Timestamp";
  if (count("lists") >= Math.max(1, present * LIST_FRACTION_MIN)) return "CategoryList";
  const few = count("different") <= CATEGORY_FEW && count("length") <= CATEGORY_SHORT;
  return few || count("different") <= present * CATEGORY_DISTINCT_MAX ? "Category" : "Text";
}

/** A whole number that a double would round is an id, except 2^63, which programs write for "no value". */
const isInexact = (number: string) => `(abs(${number}) > ${Number.MAX_SAFE_INTEGER} AND abs(${number}) != ${2 ** 63})`;

async function hasInexact({ staging, table }: Place, { sql, type }: Column): Promise<boolean> {
  const mayBe =
    type instanceof DuckDBDecimalType ? type.scale === 0 && type.width > 15 : LONG_INTEGERS.has(type.typeId);
  if (!mayBe) return false;
  const number = `CAST(${sql} AS DOUBLE)`;
  const query = `SELECT count(*) FILTER (${isInexact(number)}) AS inexact FROM ${table}`;
  const row = await readRow(staging, query);
  return Number(row.inexact) > 0;
}

const isTextList = (type: DuckDBType): type is DuckDBListType =>
  type instanceof DuckDBListType && (TEXTS.has(type.valueType.typeId) || NUMBERS.has(type.valueType.typeId));

async function valueSql(place: Place, column: Column, type: FeatureType): Promise<string | undefined> {
  const { sql } = column;
  const kind = column.type.typeId;
  const isScalar = NUMBERS.has(kind) || TIMES.has(kind) || TEXTS.has(kind) || kind === DuckDBTypeId.BOOLEAN;
  if (!isScalar && !(type === "CategoryList" && isTextList(column.type))) return undefined;
  const text = plainText(sql, column.type);
  switch (type) {
    case "Numerical": {
      const number = numberSql(sql, kind);
      return `CASE WHEN isfinite(${number}) THEN ${number} END`;
    }
    case "Boolean":
      if (kind === DuckDBTypeId.BOOLEAN) return `CAST(${sql} AS UTINYINT)`;
      return positiveWord(`lower(${text})`);
    case "Timestamp":
      return await timestampSql(place, column);
    case "Category":
    case "Text":
      return `CASE WHEN length(${text}) BETWEEN 1 AND ${TEXT_LENGTH_MAX} THEN ${text} END`;
    case "CategoryList": {
      const parts = isTextList(column.type)
        ? `list_transform(${sql}, e -> ${plainText("e", column.type.valueType)})`
        : `string_split(${text}, '${LIST_SEPARATOR}')`;
      const kept = `list_filter(list_transform(${parts}, x -> ${trimmed("x")}), x -> length(x) BETWEEN 1 AND ${TEXT_LENGTH_MAX})`;
      return `list_sort(list_distinct(${kept}))[:${LIST_LENGTH_MAX}]`;
    }
  }
}

function numberSql(sql: string, kind: DuckDBTypeId): string {
  if (TIMES.has(kind)) return `TRY_CAST(epoch(${sql}) AS DOUBLE)`;
  if (TEXTS.has(kind)) return numberOfText(trimmed(`CAST(${sql} AS VARCHAR)`));
  return `TRY_CAST(${kind === DuckDBTypeId.FLOAT ? shortestDigits(sql) : sql} AS DOUBLE)`;
}

/** Removes blanks, and a leading U+FEFF, which DuckDB's client drops so that two values would look like one. */
const trimmed = (text: string) => `trim(ltrim(trim(${text}), '\ufeff'))`;

/** The value as text. A number is written as people write it: 7, not 7.0. NaN becomes NULL. */
function plainText(sql: string, type: DuckDBType): string {
  const text = trimmed(`CAST(${sql} AS VARCHAR)`);
  if (type instanceof DuckDBDecimalType && type.scale > 0) return `regexp_replace(${text}, '[.]?0+$', '')`;
  if (type.typeId !== DuckDBTypeId.DOUBLE && type.typeId !== DuckDBTypeId.FLOAT) return text;
  return `CASE WHEN NOT isfinite(${sql}) THEN NULL
    WHEN ${sql} = trunc(${sql}) AND abs(${sql}) <= ${Number.MAX_SAFE_INTEGER} THEN CAST(CAST(${sql} AS BIGINT) AS VARCHAR)
    ELSE CAST(${sql} AS VARCHAR) END`;
}

async function timestampSql({ staging, table }: Place, column: Column): Promise<string | undefined> {
  const isText = column.type.typeId === DuckDBTypeId.VARCHAR;
  const time = DUCKDB.time(isText ? trimmed(column.sql) : column.sql, column.type);
  if (time === undefined) return undefined;
  const { rule, unit } = await stagedTimes(staging, table, { name: column.name, rule: time });
  return `CAST(${rule.seconds(unit)} AS DOUBLE)`;
}
