import {
  DuckDBArrayType,
  DuckDBDecimalType,
  DuckDBListType,
  DuckDBStructType,
  type DuckDBType,
  DuckDBTypeId,
  LIST,
  VARCHAR,
} from "@duckdb/node-api";
import type { FeatureType } from "../../../shared/feature-type.ts";
import { LONG_INTEGERS, NUMBERS, TIMES } from "../rules/column-kinds.ts";
import { positiveWord } from "../rules/dialect.ts";
import { numberOfText, shortestDigits } from "../rules/duckdb-dialect.ts";
import {
  type Column,
  isInexact,
  type LeftOut,
  type Place,
  type Suggestion,
  TEXTS,
  timesOf,
  trimmed,
} from "./attribute-column.ts";
import { NESTED, vectorSql, vectorsOrLeftOut } from "./list-kinds.ts";
import { isPlaceStruct } from "./place-text.ts";
import { readRow } from "./staging.ts";
import { textSuggestion } from "./suggest-text.ts";
import {
  BRACKETED,
  LIST_SEPARATORS,
  NAMES_OF_OBJECTS,
  separated,
  type TextReading,
  unlessNothing,
} from "./text-readings.ts";

/** A column of an attribute table with its type. */
export type TypedAttribute = {
  readonly name: string;
  readonly type: FeatureType;
  readonly inferred: boolean;
  /**
   * SQL of its value, NULL when missing: DOUBLE for Numerical and Timestamp (epoch seconds), UTINYINT for Boolean,
   * VARCHAR for Category, Text and Location (place-text.ts), VARCHAR[] for CategoryList, FLOAT[] of one length for Vector.
   */
  readonly value: string;
  /** What was guessed, for people. */
  readonly note?: string | undefined;
};

/** Longer texts are descriptions. No filter compares them, and a Worker could not hold them. */
export const TEXT_LENGTH_MAX = 1000;
const LIST_LENGTH_MAX = 200;
/** The column as an attribute, with the declared type or the type that its values suggest. */
export async function typeAttribute(
  place: Place,
  given: Column,
  declared: FeatureType | undefined,
): Promise<TypedAttribute | LeftOut> {
  const list = arrayAsList(given);
  const names = namesOfObjects(list);
  const column = names ?? list;
  const suggestion = TEXTS.has(column.type.typeId)
    ? await textSuggestion(place, column)
    : await plainSuggestion(place, column);
  if (declared === undefined && "leftOut" in suggestion) return suggestion;
  const suggested = "leftOut" in suggestion ? undefined : suggestion;
  const type = declared ?? suggested!.type;
  const reading = suggested?.type === type ? suggested.reading : undefined;
  const value = await valueSql(place, column, { type, reading });
  if (value === undefined) return { leftOut: `${column.type} cannot be ${type}` };
  const guess =
    names !== undefined ? `is read as ${NAMES_OF_OBJECTS.name}` : suggested?.type === type ? suggested.note : undefined;
  const left = [
    await missingNote(place, column, { type, value }),
    type === "CategoryList" ? await lostElementsNote(place, elementsOf(column, reading), value) : undefined,
  ].filter((each) => each !== undefined);
  const note = left.length === 0 ? guess : [guess ?? `is read as ${type}`, ...left].join("; ");
  return { name: column.name, type, inferred: declared === undefined, value, note };
}

function arrayAsList({ sql, name, type }: Column): Column {
  if (!(type instanceof DuckDBArrayType)) return { sql, name, type };
  const list = LIST(type.valueType);
  return { sql: `CAST(${sql} AS ${list})`, name, type: list };
}

const hasName = (type: DuckDBType) =>
  type instanceof DuckDBStructType && type.entryTypes[type.entryNames.indexOf("name")]?.typeId === DuckDBTypeId.VARCHAR;

/** Objects, and lists of objects, that have a field `name`: their names instead. */
function namesOfObjects({ sql, name, type }: Column): Column | undefined {
  if (type instanceof DuckDBListType && hasName(type.valueType))
    return { sql: `list_transform(${sql}, x -> x.name)`, name, type: LIST(VARCHAR) };
  return hasName(type) && !isPlaceStruct(type) ? { sql: `(${sql}).name`, name, type: VARCHAR } : undefined;
}

const SHOWN_VALUES = 3;

/** How many of the given values have no value in this reading; undefined if all have one. */
async function missingNote(
  { staging, table }: Place,
  { sql, type: given }: Column,
  { type, value }: Pick<TypedAttribute, "type" | "value">,
): Promise<string | undefined> {
  if (given instanceof DuckDBListType && type !== "Vector") return undefined;
  const isText = TEXTS.has(given.typeId);
  const counts = await readRow(
    staging,
    `SELECT count(given) AS rows, count(given) FILTER (value IS NULL) AS missing,
       to_json(min(left(${unlessNothing("CAST(given AS VARCHAR)")}, 40), ${SHOWN_VALUES}) FILTER (value IS NULL)) AS examples
     FROM (SELECT ${isText ? `nullif(${trimmed(`CAST(${sql} AS VARCHAR)`)}, '')` : sql} AS given, ${value} AS value FROM ${table})`,
  );
  if (Number(counts.missing) === 0) return undefined;
  const share = `${counts.missing} of ${counts.rows} values`;
  if (isText && (type === "Text" || type === "Category"))
    return `${share} have more than ${TEXT_LENGTH_MAX} characters and count as missing`;
  const examples = counts.examples === null ? [] : (JSON.parse(String(counts.examples)) as string[]);
  const shown = examples.length === 0 ? "" : `, such as ${examples.map((text) => JSON.stringify(text)).join(", ")}`;
  return `${share} cannot be read so and count as missing${shown}`;
}

async function plainSuggestion(place: Place, column: Column): Promise<Suggestion | LeftOut> {
  const { sql, type } = column;
  if (type.typeId === DuckDBTypeId.BOOLEAN) return { type: "Boolean" };
  if (NUMBERS.has(type.typeId)) return { type: (await hasInexact(place, column)) ? "Category" : "Numerical" };
  if (TIMES.has(type.typeId)) return { type: "Timestamp" };
  if (isPlaceStruct(type)) return { type: "Location" };
  const isNested =
    type instanceof DuckDBListType && [DuckDBTypeId.LIST, DuckDBTypeId.ARRAY].includes(type.valueType.typeId);
  if (isNested) return NESTED;
  if (!isTextList(type)) return { leftOut: `${type} cannot be an attribute` };
  return (await vectorsOrLeftOut(place, sql)) ?? { type: "CategoryList" };
}

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

type Reading = { readonly type: FeatureType; readonly reading: TextReading | undefined };

async function valueSql(place: Place, column: Column, { type, reading }: Reading): Promise<string | undefined> {
  const { sql } = column;
  const kind = column.type.typeId;
  const isScalar = NUMBERS.has(kind) || TIMES.has(kind) || TEXTS.has(kind) || kind === DuckDBTypeId.BOOLEAN;
  if (type === "Location" && isPlaceStruct(column.type)) return `CAST(to_json(${sql}) AS VARCHAR)`;
  const isList = (type === "CategoryList" || type === "Vector") && isTextList(column.type);
  if (!isScalar && !isList) return undefined;
  const text = plainText(sql, column.type);
  switch (type) {
    case "Numerical": {
      const number = reading ? reading.value(unlessNothing(text)) : numberSql(sql, kind);
      return `CASE WHEN isfinite(${number}) THEN ${number} END`;
    }
    case "Boolean":
      if (kind === DuckDBTypeId.BOOLEAN) return `CAST(${sql} AS UTINYINT)`;
      return positiveWord(`lower(${text})`);
    case "Timestamp":
      return (await timesOf(place, column))?.value;
    case "Location":
      return TEXTS.has(kind) ? unlessNothing(`nullif(${text}, '')`) : undefined;
    case "Category":
    case "Text":
      return `CASE WHEN length(${text}) BETWEEN 1 AND ${TEXT_LENGTH_MAX} THEN ${text} END`;
    case "Vector": {
      if (!isList && !TEXTS.has(kind)) return undefined;
      return await vectorSql(place, isList ? sql : (reading ?? BRACKETED).value(text));
    }
    case "CategoryList": {
      const kept = `list_filter(${elementsOf(column, reading)}, x -> length(x) <= ${TEXT_LENGTH_MAX})`;
      return `list_sort(${kept})[:${LIST_LENGTH_MAX}]`;
    }
  }
}

/** The different elements of a list, without empty ones. */
function elementsOf({ sql, type }: Column, reading: TextReading | undefined): string {
  const parts = isTextList(type)
    ? `list_transform(${sql}, e -> ${plainText("e", type.valueType)})`
    : (reading ?? separated(LIST_SEPARATORS[0]!)).value(plainText(sql, type));
  return `list_distinct(list_filter(list_transform(${parts}, x -> ${trimmed("x")}), x -> length(x) > 0))`;
}

/** How many elements the lists of this reading have lost; undefined if none. */
async function lostElementsNote({ staging, table }: Place, elements: string, value: string) {
  const { lost } = await readRow(staging, `SELECT sum(len(${elements}) - len(${value})) AS lost FROM ${table}`);
  if (Number(lost ?? 0) === 0) return undefined;
  return `its lists lost ${lost} elements: those of more than ${TEXT_LENGTH_MAX} characters, and all beyond ${LIST_LENGTH_MAX} in one list`;
}

function numberSql(sql: string, kind: DuckDBTypeId): string {
  if (TIMES.has(kind)) return `TRY_CAST(epoch(${sql}) AS DOUBLE)`;
  if (TEXTS.has(kind)) return numberOfText(trimmed(`CAST(${sql} AS VARCHAR)`));
  return `TRY_CAST(${kind === DuckDBTypeId.FLOAT ? shortestDigits(sql) : sql} AS DOUBLE)`;
}

/** The value as text. A number is written as people write it: 7, not 7.0. NaN becomes NULL. */
function plainText(sql: string, type: DuckDBType): string {
  const text = trimmed(`CAST(${sql} AS VARCHAR)`);
  if (type instanceof DuckDBDecimalType && type.scale > 0) return `regexp_replace(${text}, '[.]?0+$', '')`;
  if (type.typeId !== DuckDBTypeId.DOUBLE && type.typeId !== DuckDBTypeId.FLOAT) return text;
  return `CASE WHEN NOT isfinite(${sql}) THEN NULL
    WHEN ${sql} = trunc(${sql}) AND abs(${sql}) <= ${Number.MAX_SAFE_INTEGER} THEN CAST(CAST(${sql} AS BIGINT) AS VARCHAR)
    ELSE CAST(${sql} AS VARCHAR) END`;
}
