import type { DuckDBConnection } from "@duckdb/node-api";
import * as z from "zod";
import { failSource } from "../source-error.ts";
import { literal } from "../sql-text.ts";
import { fileBeginning } from "./file-beginning.ts";
import type { SourceFile } from "./files.ts";

const CsvDialect = z.object({
  Delimiter: z.string(),
  NewLineDelimiter: z.string(),
  SkipRows: z.number(),
  HasHeader: z.boolean(),
  Columns: z.array(z.object({ name: z.string(), type: z.string() })),
});
/** How a text file is written: delimiter, header, columns with their types. */
export type CsvDialect = z.infer<typeof CsvDialect>;

/** A text file and the number of rows from which its columns are found; −1: all rows. */
export type Typing = { readonly file: SourceFile; readonly typedByRows: number };

const COLUMNS_MAX = 1000;
const DELIMITERS = [",", "\t", ";", "|"];

/** What is known of a dialect before DuckDB looks for the rest. */
type Known = { readonly delimiter?: string | undefined; readonly skip?: number; readonly isStrict?: boolean };

/** Throws StageError `file_malformed` and DuckDB's errors. */
export async function sniffCsv(connection: DuckDBConnection, typing: Typing): Promise<CsvDialect> {
  const { file } = typing;
  const lines = await firstLines(file).catch(() => [""]); // opening the file reports what is wrong with it
  const line = lines[0]!;
  /**
   * Quotes inside quoted values hide the dialect from a strict search. The other search finds it, except where the last line has a quote
   * that is not closed: then the first line shows it. Reading leaves out such lines.
   */
  const sniff = async (known: Known) => {
    try {
      return await sniffOnce(connection, typing, known);
    } catch (error) {
      if (!/sniffing file/i.test(String(error))) throw error;
      return await sniffOnce(connection, typing, { ...known, isStrict: false }).catch(() => {
        const dialect = known.delimiter === undefined ? undefined : dialectOfHeader(line, known.delimiter);
        if (dialect === undefined) throw error;
        return dialect;
      });
    }
  };
  const given = knownFrom(lines, file);
  const sniffed = await sniff(given);
  // Lines of different length make DuckDB read each line as one column. Then the header shows the delimiter.
  const header = sniffed.Columns.length === 1 ? sniffed.Columns[0]!.name : "";
  const delimiter = given.delimiter ?? delimiterOf(header) ?? sniffed.Delimiter;
  const better = delimiter === sniffed.Delimiter ? sniffed : await sniff({ ...given, delimiter });
  checkColumns(better, file);
  return better;
}

/** `1::Toy Story::Animation|Comedy`: other delimiters come later, within a value. */
const TWO_COLONS_TWICE = /^[^:,;|\t]+::.*::/;

/** Words with one blank between them and no other delimiter, as in the data of many papers. */
const SPACED = /^[^\s",;|]+( [^\s",;|]+)+\r?$/;

/** `sep=;` in the first line, as Excel writes it, and delimiters that DuckDB does not look for. */
function knownFrom(lines: readonly string[], file: SourceFile): Known {
  const line = lines[0]!;
  const separator = /^sep=([^\w"])\r?$/i.exec(line)?.[1];
  if (separator !== undefined) return { delimiter: separator, skip: 1 };
  const hasOthers = DELIMITERS.some((delimiter) => line.includes(delimiter));
  if (hasOthers ? TWO_COLONS_TWICE.test(line) : line.includes("::")) return { delimiter: "::" };
  const counts = new Set(lines.map((each) => (SPACED.test(each) ? each.split(" ").length : 0)));
  if (!counts.has(0) && counts.size === 1) return { delimiter: " " };
  return file.format === "tsv" && (line.includes("\t") || delimiterOf(line) === undefined) ? { delimiter: "\t" } : {};
}

/** At least one line, without the mark of UTF-8. */
async function firstLines(file: SourceFile): Promise<string[]> {
  const { bytes } = await fileBeginning(file);
  const text = bytes.toString("utf8", 0, LINES_BYTES).replace(/^\ufeff/, "");
  return text.replace(/\n$/, "").split("\n", LINES_READ);
}
const LINES_READ = 50;
const LINES_BYTES = 1 << 20;

/** The delimiter that a line has most often outside of quotes. */
function delimiterOf(line: string): string | undefined {
  const unquoted = line.replaceAll(/"[^"]*"/g, "");
  const counts = DELIMITERS.map((delimiter) => ({ delimiter, count: unquoted.split(delimiter).length - 1 }));
  return counts.sort((a, b) => b.count - a.count).find(({ count }) => count > 0)?.delimiter;
}

/** The dialect of a file that begins with this header; undefined where the line is none. */
function dialectOfHeader(line: string, Delimiter: string): CsvDialect | undefined {
  const names = line.replace(/\r$/, "").split(Delimiter);
  const Columns = names.map((name) => ({ name: name.replace(/^"(.*)"$/, "$1"), type: "VARCHAR" }));
  if (Columns.some(({ name }) => !/^[^"]+$/.test(name) || !Number.isNaN(Number(name)))) return undefined;
  return { Delimiter, NewLineDelimiter: line.endsWith("\r") ? "\\r\\n" : "\\n", SkipRows: 0, HasHeader: true, Columns };
}

async function sniffOnce(
  connection: DuckDBConnection,
  { file, typedByRows }: Typing,
  { delimiter, skip = 0, isStrict = true }: Known,
): Promise<CsvDialect> {
  const options = [
    `sample_size = ${typedByRows}`,
    `compression = '${file.compression}'`,
    `quote = '"', escape = '"', ignore_errors = true, strict_mode = ${isStrict}`,
    ...(delimiter === undefined ? [] : [`delim = ${literal(delimiter)}`]),
    ...(skip === 0 ? [] : [`skip = ${skip}`]),
  ];
  const reader = await connection.runAndReadAll(
    `SELECT Delimiter, NewLineDelimiter, SkipRows, HasHeader, Columns
     FROM sniff_csv(${literal(file.path)}, ${options.join(", ")})`,
  );
  return CsvDialect.parse(reader.getRowObjectsJson()[0]);
}

function checkColumns({ Columns }: CsvDialect, file: SourceFile): void {
  const fail = (reason: string) => failSource("file_malformed", `${JSON.stringify(file.shownAs)} ${reason}`);
  if (Columns.length > COLUMNS_MAX) fail(`has ${Columns.length} columns; at most ${COLUMNS_MAX} can be read`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters show that a file is binary.
  if (Columns.some(({ name }) => /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(name)))
    fail(`is not a text file: its first line has control characters. Expected ${file.format.toUpperCase()} in UTF-8`);
}

const REJECTS_MAX = 10_000_000;

/**
 * The expression after FROM that reads a text file by its dialect. Lines that do not fit are recorded in temporary tables:
 * `ignore_errors` instead would lose all rows after a quote that is not closed.
 *
 * @param rejects Prefix of the tables' names: `reject_errors`, `reject_scans`.
 */
export function csvFunction(file: SourceFile, sniffed: CsvDialect, { rejects = "reject" } = {}): string {
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
    `store_rejects = true, rejects_limit = ${REJECTS_MAX}`,
    `rejects_table = '${rejects}_errors', rejects_scan = '${rejects}_scans'`,
  ];
  return `read_csv(${literal(file.path)}, ${options.join(", ")})`;
}
