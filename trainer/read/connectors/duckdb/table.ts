import type { DuckDBConnection } from "@duckdb/node-api";
import { z } from "zod";
import { sourceError } from "../source-error.ts";
import { identifier, literal } from "../sql-text.ts";
import type { SourceFile } from "./files.ts";
import { jsonTable } from "./json-table.ts";

const Sniffed = z.object({
  Delimiter: z.string(),
  NewLineDelimiter: z.string(),
  SkipRows: z.number(),
  HasHeader: z.boolean(),
  Columns: z.array(z.object({ name: z.string(), type: z.string() })),
  DateFormat: z.string().nullable(),
  TimestampFormat: z.string().nullable(),
});
type Sniffed = z.infer<typeof Sniffed>;

const COLUMNS_MAX = 1000;
/** Digits. Longer whole numbers may be beyond 64 bits. */
const LONG_DIGITS = 18;
const REJECTS_MAX = 10_000_000;
const DELIMITERS = [",", "\t", ";", "|"];

/**
 * The expression after FROM that reads a file. Columns and types of a text file are found from all its rows, because those of a
 * sample would round or drop later values. Lines that do not fit are skipped and recorded in the connection's table reject_errors.
 *
 * @param typedByRows Rows from which the types are found; −1: all.
 * Throws StageError `file_malformed` and DuckDB's errors.
 */
export async function tableFunction(connection: DuckDBConnection, file: SourceFile, typedByRows = -1): Promise<string> {
  switch (file.format) {
    case "parquet":
      return `read_parquet(${literal(file.path)})`;
    case "json":
    case "jsonl":
      return await jsonTable(connection, file, typedByRows);
    default:
      return await csvTable(connection, { file, typedByRows });
  }
}

type Typing = { readonly file: SourceFile; readonly typedByRows: number };

async function csvTable(connection: DuckDBConnection, typing: Typing): Promise<string> {
  const sniffed = await sniffCsv(connection, typing);
  return csvFunction(typing.file, await withLongNumbersAsText(connection, typing, sniffed));
}

async function sniffCsv(connection: DuckDBConnection, typing: Typing): Promise<Sniffed> {
  const { file } = typing;
  const given = file.format === "tsv" ? "\t" : undefined;
  const sniffed = await sniffWith(connection, typing, given);
  // Lines of different length make DuckDB read each line as one column. Then the header shows the delimiter.
  const header = sniffed.Columns.length === 1 ? sniffed.Columns[0]!.name : "";
  const meant = given ?? DELIMITERS.find((delimiter) => header.includes(delimiter));
  const better =
    meant !== undefined && meant !== sniffed.Delimiter ? await sniffWith(connection, typing, meant) : sniffed;
  checkColumns(better, file);
  return better;
}

async function sniffWith(connection: DuckDBConnection, { file, typedByRows }: Typing, delimiter: string | undefined) {
  const options = [
    `sample_size = ${typedByRows}`,
    `compression = '${file.compression}'`,
    `quote = '"', escape = '"', ignore_errors = true`,
    ...(delimiter === undefined ? [] : [`delim = ${literal(delimiter)}`]),
  ];
  const reader = await connection.runAndReadAll(
    `SELECT Delimiter, NewLineDelimiter, SkipRows, HasHeader, Columns, DateFormat, TimestampFormat
     FROM sniff_csv(${literal(file.path)}, ${options.join(", ")})`,
  );
  return Sniffed.parse(reader.getRowObjectsJson()[0]);
}

/**
 * DuckDB's sniffer gives whole numbers beyond 64 bits the type DOUBLE, in which different ids become equal. So a column of whole
 * numbers that has such a long one is read as text.
 */
async function withLongNumbersAsText(
  connection: DuckDBConnection,
  { file, typedByRows }: Typing,
  sniffed: Sniffed,
): Promise<Sniffed> {
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

function checkColumns({ Columns }: Sniffed, file: SourceFile): void {
  const fail = (reason: string) => {
    throw sourceError({ code: "file_malformed", message: `${JSON.stringify(file.shownAs)} ${reason}` });
  };
  if (Columns.length > COLUMNS_MAX) fail(`has ${Columns.length} columns; at most ${COLUMNS_MAX} can be read`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters show that a file is binary.
  if (Columns.some(({ name }) => /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(name)))
    fail(`is not a text file: its first line has control characters. Expected ${file.format.toUpperCase()} in UTF-8`);
}

function csvFunction(file: SourceFile, sniffed: Sniffed, { storeRejects = true } = {}): string {
  const columns = sniffed.Columns.map(({ name, type }) => `${literal(name)}: ${literal(type)}`);
  const options = [
    "auto_detect = false",
    `delim = ${literal(sniffed.Delimiter)}`,
    `quote = '"', escape = '"'`,
    `new_line = ${literal(sniffed.NewLineDelimiter)}`,
    `skip = ${sniffed.SkipRows}`,
    `header = ${sniffed.HasHeader}`,
    `compression = '${file.compression}'`,
    `columns = {${columns.join(", ")}}`,
    storeRejects ? `store_rejects = true, rejects_limit = ${REJECTS_MAX}` : "ignore_errors = true",
    ...(sniffed.DateFormat ? [`dateformat = ${literal(sniffed.DateFormat)}`] : []),
    ...(sniffed.TimestampFormat ? [`timestampformat = ${literal(sniffed.TimestampFormat)}`] : []),
  ];
  return `read_csv(${literal(file.path)}, ${options.join(", ")})`;
}
