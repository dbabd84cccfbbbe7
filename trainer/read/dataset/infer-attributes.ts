import { DuckDBDecimalType, DuckDBListType, type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import type { FeatureType } from "../../../shared/model-spec.ts";
import { LONG_INTEGERS, NUMBERS, TIMES } from "../rules/column-kinds.ts";
import { positiveWord } from "../rules/dialect.ts";
import { DUCKDB, numberOfText, shortestDigits } from "../rules/duckdb-dialect.ts";
import { stagedTimes } from "./staged-times.ts";
import { readRow, type Staging } from "./staging.ts";
import { BRACKETED, NUMBER_READINGS, separated, type TextReading, unlessNothing } from "./text-readings.ts";

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
  /** What was guessed, for people. */
  readonly note?: string | undefined;
};

/** Longer texts are descriptions. No filter compares them, and a Worker could not hold them. */
export const TEXT_LENGTH_MAX = 1000;
const LIST_LENGTH_MAX = 200;
/** What stands between the elements of a list in a text. The first is never anything else. */
const LIST_SEPARATORS = ["|", ";", ","];
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

/** Why a column is no attribute. */
export type LeftOut = { readonly leftOut: string };

/** What a column's values suggest: a type, how its texts are read, and what was guessed. */
type Suggestion = { readonly type: FeatureType; readonly reading?: TextReading; readonly note?: string | undefined };

/** The column as an attribute, with the declared type or the type that its values suggest. */
export async function typeAttribute(
  place: Place,
  column: Column,
  declared: FeatureType | undefined,
): Promise<TypedAttribute | LeftOut> {
  const suggestion = TEXTS.has(column.type.typeId)
    ? await textSuggestion(place, column)
    : await plainSuggestion(place, column);
  if (declared === undefined && "leftOut" in suggestion) return suggestion;
  const suggested = "leftOut" in suggestion ? undefined : suggestion;
  const type = declared ?? suggested!.type;
  const reading = suggested?.type === type ? suggested.reading : undefined;
  const value = await valueSql(place, column, { type, reading });
  if (value === undefined) return { leftOut: `${column.type} cannot be ${type}` };
  const note = suggested?.type === type ? suggested.note : undefined;
  return { name: column.name, type, inferred: declared === undefined, value, note };
}

/** Lists of numbers that are all as long, such as what a network makes of a picture. */
const VECTOR_LENGTH_MIN = 8;
const VECTOR: LeftOut = { leftOut: "its lists of fractions, all of one length, are vectors, which no method uses yet" };
const NESTED: LeftOut = { leftOut: "its lists contain lists; give it the elements of one list" };

async function plainSuggestion(place: Place, column: Column): Promise<Suggestion | LeftOut> {
  const { sql, type } = column;
  if (type.typeId === DuckDBTypeId.BOOLEAN) return { type: "Boolean" };
  if (NUMBERS.has(type.typeId)) return { type: (await hasInexact(place, column)) ? "Category" : "Numerical" };
  if (TIMES.has(type.typeId)) return { type: "Timestamp" };
  if (type instanceof DuckDBListType && type.valueType instanceof DuckDBListType) return NESTED;
  if (!isTextList(type)) return { leftOut: `${type} cannot be an attribute` };
  return (await areVectors(place, sql)) ?? ((await areNested(place, sql)) ? NESTED : { type: "CategoryList" });
}

async function areVectors({ staging, table }: Place, list: string): Promise<LeftOut | undefined> {
  const numbers = `list_transform(${list}, x -> TRY_CAST(x AS DOUBLE))`;
  const row = await readRow(
    staging,
    `SELECT min(len(n)) AS least, max(len(n)) AS most, coalesce(bool_and(len(list_filter(n, x -> x IS NULL)) = 0), false) AS are_numbers,
       coalesce(bool_or(len(list_filter(n, x -> x <> trunc(x))) > 0), false) AS have_fractions
     FROM (SELECT ${numbers} AS n FROM ${table} WHERE ${list} IS NOT NULL)`,
  );
  const isOneLength = Number(row.least) === Number(row.most) && Number(row.least) >= VECTOR_LENGTH_MIN;
  return isOneLength && row.are_numbers === true && row.have_fractions === true ? VECTOR : undefined;
}

const areNested = async ({ staging, table }: Place, list: string): Promise<boolean> => {
  const isList = `regexp_matches(CAST(x AS VARCHAR), '^\\s*[\\[{]')`;
  const row = await readRow(
    staging,
    `SELECT count(*) FILTER (len(list_filter(${list}, x -> ${isList})) > 0) AS nested, count(${list}) AS present FROM ${table}`,
  );
  return Number(row.nested) > 0 && Number(row.nested) * 2 > Number(row.present);
};

/** Numbers of a column that is nearly all numbers; the few other values are missing. */
const NUMBER_FRACTION_MIN = 0.95;
const SHOWN_VALUES = 3;

async function textSuggestion(place: Place, column: Column): Promise<Suggestion | LeftOut> {
  const text = trimmed(`CAST(${column.sql} AS VARCHAR)`);
  const isTime = `(regexp_matches(v, '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]|$)') AND TRY_CAST(v AS TIMESTAMPTZ) IS NOT NULL)`;
  const numbers = NUMBER_READINGS.map(({ value }, i) => `count(${value("v")}) AS number${i}`);
  const from = `(SELECT ${unlessNothing("given")} AS v FROM (SELECT ${text} AS given FROM ${place.table}) WHERE given != '')`;
  const row = await readRow(
    place.staging,
    `SELECT count(*) AS rows, count(v) AS present, count(DISTINCT v) AS different, avg(length(v)) AS length, ${numbers.join(", ")},
       count(*) FILTER (${NUMBER_READINGS[1]!.value("v")} IS DISTINCT FROM ${NUMBER_READINGS[2]!.value("v")}) AS unlike,
       count(*) FILTER (${isTime}) AS times, count(*) FILTER ((${positiveWord("lower(v)")}) IS NOT NULL) AS booleans,
       count(${BRACKETED.value("v")}) AS bracketed,
       count(*) FILTER (regexp_matches(v, '^[+-]?[0-9]+$') AND ${isInexact("TRY_CAST(v AS DOUBLE)")}) AS inexact FROM ${from}`,
  );
  const count = (name: string) => Number(row[name]);
  const present = count("present");
  if (present === 0) return { type: "Text" };
  if (count("booleans") === present && count("number0") < present) return { type: "Boolean" };
  if (count("inexact") > 0 && count("number0") === present) return { type: "Category" };
  const number = await numberSuggestion({ ...place, from }, count);
  if (number) return number;
  if (count("times") === present) return { type: "Timestamp" };
  if (count("bracketed") === present) return await bracketedSuggestion({ ...place, from });
  const list = await separatedSuggestion({ ...place, from }, present);
  if (list) return list;
  const few = count("different") <= CATEGORY_FEW && count("length") <= CATEGORY_SHORT;
  return { type: few || count("different") <= present * CATEGORY_DISTINCT_MAX ? "Category" : "Text" };
}

/** A table of texts. */
type Texts = Place & { readonly from: string };

async function numberSuggestion(
  { staging, from }: Texts,
  count: (name: string) => number,
): Promise<Suggestion | undefined> {
  const [present, rows] = [count("present"), count("rows")];
  const read = NUMBER_READINGS.map((_, i) => count(`number${i}`));
  const most = Math.max(...read);
  if (most < NUMBER_FRACTION_MIN * present) return undefined;
  const at = read.indexOf(most);
  // 1,234 may be a thousand or one and a bit.
  if (at > 0 && read[1] === read[2] && count("unlike") > 0) return undefined;
  const reading = NUMBER_READINGS[at]!;
  const others = rows - most;
  if (others === 0) return { type: "Numerical", reading, note: at === 0 ? undefined : `is read as ${reading.name}` };
  const shown = await readRow(
    staging,
    `SELECT to_json(list(DISTINCT v)[:${SHOWN_VALUES}]) AS examples FROM ${from} WHERE v IS NOT NULL AND ${reading.value("v")} IS NULL`,
  );
  const examples =
    shown.examples === null
      ? ""
      : `, such as ${(JSON.parse(String(shown.examples)) as string[]).map((v) => JSON.stringify(v.slice(0, 40))).join(", ")}`;
  return {
    type: "Numerical",
    reading,
    note: `is read as ${reading.name}; ${others} of ${rows} values are none and count as missing${examples}`,
  };
}

async function bracketedSuggestion({ staging, from }: Texts): Promise<Suggestion | LeftOut> {
  const lists = { staging, table: `(SELECT ${BRACKETED.value("v")} AS list FROM ${from} WHERE v IS NOT NULL)` };
  const vectors = await areVectors(lists, "list");
  if (vectors) return vectors;
  if (await areNested(lists, "list")) return NESTED;
  return { type: "CategoryList", reading: BRACKETED, note: `is read as ${BRACKETED.name}` };
}

/** Elements of a list in a text are short and repeat, and lists have different lengths. */
const ELEMENT_LENGTH_MAX = 40;
const ELEMENTS_DISTINCT_MAX = 0.5;

async function separatedSuggestion({ staging, from }: Texts, present: number): Promise<Suggestion | undefined> {
  for (const separator of LIST_SEPARATORS) {
    const reading = separated(separator);
    const elements = `(SELECT len(${reading.value("v")}) AS size, unnest(${reading.value("v")}) AS e FROM ${from} WHERE v IS NOT NULL)`;
    const row = await readRow(
      staging,
      `SELECT (SELECT count(*) FROM ${from} WHERE contains(v, '${separator}')) AS lists, count(*) AS elements,
         count(DISTINCT trim(e)) AS different, max(length(trim(e))) AS longest, min(size) AS least, max(size) AS most,
         count(*) FILTER (regexp_matches(e, '[.!?]\\s')) AS sentences FROM ${elements}`,
    );
    const count = (name: string) => Number(row[name]);
    if (count("lists") < Math.max(1, present * LIST_FRACTION_MIN)) continue;
    if (separator === LIST_SEPARATORS[0]) return { type: "CategoryList", reading };
    const isList =
      count("longest") <= ELEMENT_LENGTH_MAX &&
      count("sentences") === 0 &&
      count("least") < count("most") &&
      count("different") <= ELEMENTS_DISTINCT_MAX * count("elements");
    if (isList) return { type: "CategoryList", reading, note: `is read as ${reading.name}` };
  }
  return undefined;
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

type Reading = { readonly type: FeatureType; readonly reading: TextReading | undefined };

async function valueSql(place: Place, column: Column, { type, reading }: Reading): Promise<string | undefined> {
  const { sql } = column;
  const kind = column.type.typeId;
  const isScalar = NUMBERS.has(kind) || TIMES.has(kind) || TEXTS.has(kind) || kind === DuckDBTypeId.BOOLEAN;
  if (!isScalar && !(type === "CategoryList" && isTextList(column.type))) return undefined;
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
      return await timestampSql(place, column);
    case "Category":
    case "Text":
      return `CASE WHEN length(${text}) BETWEEN 1 AND ${TEXT_LENGTH_MAX} THEN ${text} END`;
    case "CategoryList": {
      const parts = isTextList(column.type)
        ? `list_transform(${sql}, e -> ${plainText("e", column.type.valueType)})`
        : (reading ?? separated(LIST_SEPARATORS[0]!)).value(text);
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
