import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier } from "../sql-text.ts";
import type { CsvDialect, Typing } from "./csv-dialect.ts";
import { csvFunction } from "./csv-function.ts";

/** Digits. Longer whole numbers may be beyond 64 bits. */
const LONG_DIGITS = 18;

/**
 * DuckDB's sniffer gives whole numbers beyond 64 bits the type DOUBLE, in which different ids become equal. So a column of whole
 * numbers that has such a long one is read as text.
 */
export async function withLongNumbersAsText(
  connection: DuckDBConnection,
  { file, typedByRows }: Typing,
  sniffed: CsvDialect,
): Promise<CsvDialect> {
  const { Columns } = sniffed;
  const isDouble = Columns.map(({ type }) => type === "DOUBLE");
  if (!isDouble.includes(true)) return sniffed;
  const asText = Columns.map((column, i) => (isDouble[i] ? { ...column, type: "VARCHAR" } : column));
  const aggregates = Columns.map(({ name }, i) => {
    const text = identifier(name);
    return isDouble[i]
      ? `max(strlen(${text})) > ${LONG_DIGITS} AND bool_and(regexp_full_match(${text}, '-?[0-9]+'))`
      : "false";
  });
  const scan = csvFunction(file, { ...sniffed, Columns: asText }, { storeRejects: false });
  const rows = typedByRows < 0 ? scan : `(FROM ${scan} LIMIT ${typedByRows})`;
  const reader = await connection.runAndReadAll(`SELECT ${aggregates.join(", ")} FROM ${rows}`);
  const isLong = reader.getRows()[0]!;
  return { ...sniffed, Columns: Columns.map((column, i) => (isLong[i] === true ? asText[i]! : column)) };
}

/**
 * DuckDB guesses forms such as 31/12/2024, and reads 03/01/2024 as either day. Only columns whose times begin with the year keep
 * their type; others are read as text, in which a form is looked for in the open (rules/).
 */
export function withoutGuessedTimes(sniffed: CsvDialect): CsvDialect {
  const isGuessed = (type: string) =>
    (type === "DATE" && isOtherForm(sniffed.DateFormat)) ||
    (type === "TIMESTAMP" && (isOtherForm(sniffed.TimestampFormat) || isOtherForm(sniffed.DateFormat)));
  const Columns = sniffed.Columns.map((column) => (isGuessed(column.type) ? { ...column, type: "VARCHAR" } : column));
  return { ...sniffed, Columns };
}

const isOtherForm = (format: string | null) => format !== null && format !== "" && !format.startsWith("%Y");
