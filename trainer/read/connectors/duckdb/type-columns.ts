/** Types of the columns of a text file, found from the texts of all rows. A column whose values are of several kinds is text. */
import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier } from "../sql-text.ts";
import type { TypedColumn } from "./columns.ts";
import { type CsvDialect, csvFunction, type Typing } from "./csv-dialect.ts";

/** Rows from which the kinds are found that all other rows are compared with. */
const FIRST_ROWS = 20_480;

const form = (pattern: string) => (text: string) => `regexp_full_match(${text}, '${pattern}')`;
const time = (pattern: string, type: string) => (text: string) =>
  `${form(pattern)(text)} AND TRY_CAST(${text} AS ${type}) IS NOT NULL`;
const isInteger = (text: string) => `CAST(TRY_CAST(${text} AS BIGINT) AS VARCHAR) = ${text}`;
const WHOLE = "(0|[1-9][0-9]*)";
const NUMBER = `\\s*-?(${WHOLE}([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,3})?\\s*`;
/** Two-digit years and days before months stay text. */
const DAY = "[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}";
const CLOCK = "[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?";

/** The kinds of values, each with SQL of whether a text that is of no earlier kind is of this one. */
const KINDS = {
  fraction: (text: string) => `contains(${text}, '.') AND NOT suffix(${text}, '.0') AND NOT contains(${text}, 'e')
    AND CAST(TRY_CAST(${text} AS DOUBLE) AS VARCHAR) = ${text}`,
  integer: (text: string) => `strlen(${text}) <= 15 AND ${isInteger(text)}`, // a DOUBLE holds it exactly
  longInteger: (text: string) => `strlen(${text}) > 15 AND ${isInteger(text)}`,
  day: time(DAY, "DATE"),
  moment: time(`${DAY}[ T]${CLOCK}`, "TIMESTAMP"),
  // With a blank before Z or an offset it is a text, for which DuckDB would look among the names of time zones.
  zonedMoment: time(`${DAY}[ T]${CLOCK}(Z| ?UTC|[+-][0-9]{2}(:?[0-9]{2})?)`, "TIMESTAMPTZ"),
  clock: time(CLOCK, "TIME"),
  hugeInteger: form("-?[1-9][0-9]{18,}"),
  wholeWithPoint: form("-?[1-9][0-9]{0,14}[.]0+|0[.]0+"),
  paddedInteger: form(`\\s*-?${WHOLE}\\s*`), // with blanks around it, or −0
  // 1.50, 1e3, .5, inf
  otherNumber: (text: string) =>
    `(${form(NUMBER)(text)} AND TRY_CAST(${text} AS DOUBLE) IS NOT NULL) OR lower(${text}) IN ('inf', '-inf')`,
  noNumber: (text: string) => `lower(${text}) = 'nan'`,
  infinity: (text: string) => `${text} IN ('infinity', '-infinity')`, // a number and a time
  truth: (text: string) => `lower(${text}) IN ('true', 'false', 't', 'f', 'yes', 'no')`,
  text: () => "true",
};
type Kind = keyof typeof KINDS;
const NAMES = Object.keys(KINDS) as Kind[];
/** A set of kinds as bits. */
const bitsOf = (...kinds: readonly Kind[]): number =>
  kinds.reduce((bits, kind) => bits | (1 << NAMES.indexOf(kind)), 0);

const INTEGERS = bitsOf("integer", "longInteger");
const ALL_INTEGERS = INTEGERS | bitsOf("hugeInteger", "paddedInteger");
const FURTHER_NUMBERS = bitsOf("otherNumber", "noNumber", "infinity");
const NUMBERS = ALL_INTEGERS | bitsOf("wholeWithPoint", "fraction") | FURTHER_NUMBERS;
const DAYS = bitsOf("day", "infinity");
const TIMES = DAYS | bitsOf("clock", "moment", "zonedMoment");
/** Kinds of which the first ones that a column has had are looked for first. No text is of two of them. */
const COMMON = INTEGERS | bitsOf("fraction") | TIMES;

export async function typeColumns(
  connection: DuckDBConnection,
  { file, typedByRows }: Typing,
  sniffed: CsvDialect,
): Promise<TypedColumn[]> {
  const texts = sniffed.Columns.map(({ name }) => ({ name, type: "VARCHAR" }));
  const scan = csvFunction(file, { ...sniffed, Columns: texts }, { rejects: "typing" });
  /** The kinds that each column has in the first rows. All are looked for in one expression, since its patterns take long to compile. */
  const kindsOfFirst = async (rows: number) => {
    const columns = texts.map(({ name }) => identifier(name)).join(", ");
    const reader = await connection.runAndReadAll(
      `SELECT i, count(*), bit_or(CAST(${kindSql("text", 0)} AS USMALLINT))
       FROM (SELECT unnest([${columns}]) AS text, unnest(range(${texts.length})) AS i FROM (FROM ${scan} LIMIT ${rows})) GROUP BY i`,
    );
    const found = new Map(reader.getRows().map((row) => [Number(row[0]), row]));
    const numberIn = (i: number, place: number) => Number(found.get(i)?.[place] ?? 0);
    return { count: numberIn(0, 1), kinds: texts.map((_, i) => numberIn(i, 2)) };
  };
  /** The kinds of each column, together with those that it has had so far. */
  const kindsOf = async (soFar: readonly number[], rows: number) => {
    const from = rows < 0 ? scan : `(FROM ${scan} LIMIT ${rows})`;
    const kinds = texts.map(({ name }, i) =>
      isText(soFar[i]!) ? "0" : `bit_or(CAST(${kindSql(identifier(name), soFar[i]!)} AS USMALLINT))`,
    );
    const reader = await connection.runAndReadAll(`SELECT count(*), ${kinds.join(", ")} FROM ${from}`);
    const [count, ...found] = reader.getRows()[0]!.map((value) => Number(value ?? 0));
    return { count: count!, kinds: found.map((bits, i) => bits | soFar[i]!) };
  };
  const firstRows = typedByRows < 0 ? FIRST_ROWS : Math.min(FIRST_ROWS, typedByRows);
  const first = await kindsOfFirst(firstRows);
  const isWhole = first.count < firstRows || firstRows === typedByRows || first.kinds.every(isText);
  const { kinds } = isWhole ? first : await kindsOf(first.kinds, typedByRows);
  for (const name of ["errors", "scans"]) await connection.run(`DROP TABLE IF EXISTS typing_${name}`);
  return texts.map(({ name }, i) => ({ name, ...typeOf(kinds[i]!) }));
}

const isText = (kinds: number): boolean => typeOf(kinds).type === "VARCHAR" && kinds !== 0;

/** The type of a column that has values of these kinds. */
function typeOf(kinds: number): Omit<TypedColumn, "name"> {
  const isAmong = (allowed: number) => (kinds & ~allowed) === 0;
  const text = { type: "VARCHAR", isExact: true };
  if (isAmong(bitsOf("noNumber", "infinity"))) return text;
  if (isAmong(INTEGERS | bitsOf("paddedInteger"))) return { type: "BIGINT", isExact: isAmong(INTEGERS) };
  if (isAmong(INTEGERS | bitsOf("hugeInteger"))) return text;
  if (isAmong(NUMBERS)) {
    const isExact = isAmong(bitsOf("integer", "fraction", "noNumber")) || isAmong(bitsOf("wholeWithPoint", "noNumber"));
    return { type: "DOUBLE", isExact };
  }
  const types = [
    [bitsOf("truth"), "BOOLEAN"],
    [bitsOf("clock"), "TIME"],
    [DAYS, "DATE"],
    [DAYS | bitsOf("moment"), "TIMESTAMP"],
    [TIMES & ~bitsOf("clock"), "TIMESTAMP WITH TIME ZONE"],
  ] as const;
  const type = types.find(([allowed]) => isAmong(allowed))?.[1];
  return type === undefined ? text : { type, isExact: false };
}

/**
 * SQL of the kind of a text; NULL for none.
 *
 * @param soFar The kinds that the column has had; 0: none. To save time, only what can change the column's type is found.
 */
function kindSql(text: string, soFar: number): string {
  const { type, isExact } = typeOf(soFar);
  const families = [NUMBERS, bitsOf("truth"), TIMES].filter((family) => soFar === 0 || (family & soFar) !== 0);
  const possible = families.reduce((bits, family) => bits | family, bitsOf("text"));
  const wanted = type === "DOUBLE" && !isExact ? possible & ~(NUMBERS ^ FURTHER_NUMBERS) : possible;
  const isLikely = (kind: Kind) => (bitsOf(kind) & COMMON & soFar) !== 0;
  const likelyFirst = NAMES.toSorted((a, b) => Number(isLikely(b)) - Number(isLikely(a)));
  const cases = likelyFirst
    .filter((kind) => (bitsOf(kind) & wanted) !== 0)
    .map((kind) => `WHEN ${KINDS[kind](text)} THEN ${bitsOf(kind)}`);
  return `CASE WHEN ${text} IS NULL THEN NULL ${cases.join(" ")} END`;
}
