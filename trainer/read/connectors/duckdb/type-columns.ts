/**
 * Types of the columns of a text file, found from the texts of all rows. A column whose values are of several kinds is text.
 *
 * | kind | type |
 * |---|---|
 * | whole numbers without leading zeros | BIGINT; text if one is beyond 64 bits |
 * | decimal numbers, also with an exponent, NaN or inf | DOUBLE |
 * | true, false, t, f, yes, no | BOOLEAN |
 * | 2024-12-31 or 2024/12/31, a clock, both, or both with a zone | DATE, TIME, TIMESTAMP, TIMESTAMPTZ |
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier } from "../sql-text.ts";
import type { TypedColumn } from "./columns.ts";
import type { CsvDialect, Typing } from "./csv-dialect.ts";
import { csvFunction } from "./csv-function.ts";

/** Rows from which the kinds are found that all other rows are compared with. */
const FIRST_ROWS = 20_480;

/** Bits of the kinds of values. */
const KIND = {
  integer: 1, // at most 15 digits, which a DOUBLE holds exactly
  longInteger: 2, // up to 64 bits
  hugeInteger: 4,
  paddedInteger: 8, // with blanks around it, or −0
  wholeWithPoint: 16, // 12.0
  fraction: 32, // 1.5 as DuckDB prints it
  otherNumber: 64, // 1.50, 1e3, .5, inf
  noNumber: 128, // NaN
  infinity: 16384, // a number and a time
  truth: 256,
  day: 512,
  clock: 1024,
  moment: 2048,
  zonedMoment: 4096,
  text: 8192,
} as const;
const INTEGERS = KIND.integer | KIND.longInteger;
const NUMBERS = 255 | KIND.infinity;
const DAYS = KIND.day | KIND.infinity;
const TIMES = DAYS | KIND.clock | KIND.moment | KIND.zonedMoment;

export async function typeColumns(
  connection: DuckDBConnection,
  { file, typedByRows }: Typing,
  sniffed: CsvDialect,
): Promise<TypedColumn[]> {
  const texts = sniffed.Columns.map(({ name }) => ({ name, type: "VARCHAR" }));
  const scan = csvFunction(file, { ...sniffed, Columns: texts }, { rejects: "typing" });
  const kindsOf = async (expressions: readonly string[], rows: number) => {
    const from = rows < 0 ? scan : `(FROM ${scan} LIMIT ${rows})`;
    const aggregates = ["count(*)", ...expressions.map((kind) => `bit_or(CAST(${kind} AS USMALLINT))`)];
    const reader = await connection.runAndReadAll(`SELECT ${aggregates.join(", ")} FROM ${from}`);
    return reader.getRows()[0]!.map((value) => Number(value ?? 0));
  };
  const columns = texts.map(({ name }) => identifier(name));
  const firstRows = typedByRows < 0 ? FIRST_ROWS : Math.min(FIRST_ROWS, typedByRows);
  const [count, ...first] = await kindsOf(
    columns.map((column) => kindSql(column)),
    firstRows,
  );
  const open = columns.map((_, i) => i).filter((i) => !isText(first[i]!));
  const isWhole = count! < firstRows || firstRows === typedByRows || open.length === 0;
  const [, ...all] = isWhole
    ? []
    : await kindsOf(
        open.map((i) => kindSql(columns[i]!, first[i]!)),
        typedByRows,
      );
  for (const name of ["errors", "scans"]) await connection.run(`DROP TABLE IF EXISTS typing_${name}`);
  const kinds = first.map((kind, i) => (open.includes(i) ? kind | (all[open.indexOf(i)] ?? 0) : kind));
  return texts.map(({ name }, i) => ({ name, ...typeOf(kinds[i]!) }));
}

const isText = (kinds: number): boolean => typeOf(kinds).type === "VARCHAR" && kinds !== 0;

/** The type of a column that has values of these kinds. */
function typeOf(kinds: number): Omit<TypedColumn, "name"> {
  const isAmong = (allowed: number) => (kinds & ~allowed) === 0;
  const text = { type: "VARCHAR", isExact: true };
  if (isAmong(KIND.noNumber | KIND.infinity)) return text;
  if (isAmong(INTEGERS | KIND.paddedInteger)) return { type: "BIGINT", isExact: isAmong(INTEGERS) };
  if (isAmong(INTEGERS | KIND.hugeInteger)) return text;
  if (isAmong(NUMBERS)) {
    const isExact =
      isAmong(KIND.integer | KIND.fraction | KIND.noNumber) || isAmong(KIND.wholeWithPoint | KIND.noNumber);
    return { type: "DOUBLE", isExact };
  }
  if (isAmong(KIND.truth)) return { type: "BOOLEAN", isExact: false };
  if (isAmong(KIND.clock)) return { type: "TIME", isExact: false };
  if (isAmong(DAYS)) return { type: "DATE", isExact: false };
  if (isAmong(DAYS | KIND.moment)) return { type: "TIMESTAMP", isExact: false };
  return isAmong(TIMES & ~KIND.clock) ? { type: "TIMESTAMP WITH TIME ZONE", isExact: false } : text;
}

/**
 * SQL of the kind of a text; NULL for none.
 *
 * @param among The kinds that the column has had so far; 0: none. To save time, only what can change the column's type is found.
 */
function kindSql(text: string, among = 0): string {
  const families = [
    [NUMBERS, numberSql(text, among)],
    [KIND.truth, `WHEN lower(${text}) IN ('true', 'false', 't', 'f', 'yes', 'no') THEN ${KIND.truth}`],
    [TIMES, timeSql(text, among)],
  ] as const;
  const cases = families.filter(([kinds]) => among === 0 || (kinds & among) !== 0).map(([, sql]) => sql);
  return `CASE WHEN ${text} IS NULL THEN NULL ${cases.join(" ")} ELSE ${KIND.text} END`;
}

const matches = (text: string, pattern: string) => `regexp_full_match(${text}, '${pattern}')`;

function numberSql(text: string, among: number): string {
  const double = `TRY_CAST(${text} AS DOUBLE)`;
  const whole = "(0|[1-9][0-9]*)";
  const number = `\\s*-?(${whole}([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,3})?\\s*`;
  const others = `WHEN ${matches(text, number)} AND ${double} IS NOT NULL THEN ${KIND.otherNumber}
    WHEN lower(${text}) IN ('inf', '-inf') THEN ${KIND.otherNumber}
    WHEN lower(${text}) = 'nan' THEN ${KIND.noNumber} ${infinitySql(text)}`;
  const { type, isExact } = typeOf(among);
  if (type === "DOUBLE" && !isExact) return others;
  const integer = `WHEN CAST(TRY_CAST(${text} AS BIGINT) AS VARCHAR) = ${text}
    THEN CASE WHEN strlen(${text}) <= 15 THEN ${KIND.integer} ELSE ${KIND.longInteger} END`;
  const fraction = `WHEN contains(${text}, '.') AND NOT suffix(${text}, '.0') AND NOT contains(${text}, 'e')
    AND CAST(${double} AS VARCHAR) = ${text} THEN ${KIND.fraction}`;
  return `${type === "DOUBLE" ? `${fraction} ${integer}` : `${integer} ${fraction}`}
    WHEN ${matches(text, "-?[1-9][0-9]{18,}")} THEN ${KIND.hugeInteger}
    WHEN ${matches(text, "-?[1-9][0-9]{0,14}[.]0+|0[.]0+")} THEN ${KIND.wholeWithPoint}
    WHEN ${matches(text, `\\s*-?${whole}\\s*`)} THEN ${KIND.paddedInteger} ${others}`;
}

/** Forms of times that DuckDB casts. Two-digit years and days before months stay text. */
function timeSql(text: string, among: number): string {
  const day = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}";
  const clock = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?";
  const zone = " ?(Z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)";
  const forms = [
    [day, "DATE", KIND.day],
    [`${day}[ T]${clock}`, "TIMESTAMP", KIND.moment],
    [`${day}[ T]${clock}${zone}`, "TIMESTAMPTZ", KIND.zonedMoment],
    [clock, "TIME", KIND.clock],
  ] as const;
  const likelyFirst = forms.toSorted(([, , a], [, , b]) => Number((b & among) > 0) - Number((a & among) > 0));
  const cases = likelyFirst.map(
    ([form, type, kind]) => `WHEN ${matches(text, form)} AND TRY_CAST(${text} AS ${type}) IS NOT NULL THEN ${kind}`,
  );
  return `${cases.join(" ")} ${infinitySql(text)}`;
}

const infinitySql = (text: string) => `WHEN ${text} IN ('infinity', '-infinity') THEN ${KIND.infinity}`;
