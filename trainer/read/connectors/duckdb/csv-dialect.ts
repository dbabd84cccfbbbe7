import type { DuckDBConnection } from "@duckdb/node-api";
import { z } from "zod";
import { sourceError } from "../source-error.ts";
import { literal } from "../sql-text.ts";
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

/** Throws StageError `file_malformed` and DuckDB's errors. */
export async function sniffCsv(connection: DuckDBConnection, typing: Typing): Promise<CsvDialect> {
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
    `SELECT Delimiter, NewLineDelimiter, SkipRows, HasHeader, Columns
     FROM sniff_csv(${literal(file.path)}, ${options.join(", ")})`,
  );
  return CsvDialect.parse(reader.getRowObjectsJson()[0]);
}

function checkColumns({ Columns }: CsvDialect, file: SourceFile): void {
  const fail = (reason: string) => {
    throw sourceError({ code: "file_malformed", message: `${JSON.stringify(file.shownAs)} ${reason}` });
  };
  if (Columns.length > COLUMNS_MAX) fail(`has ${Columns.length} columns; at most ${COLUMNS_MAX} can be read`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters show that a file is binary.
  if (Columns.some(({ name }) => /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(name)))
    fail(`is not a text file: its first line has control characters. Expected ${file.format.toUpperCase()} in UTF-8`);
}
