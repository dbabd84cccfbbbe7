import { literal } from "../sql-text.ts";
import type { CsvDialect } from "./csv-dialect.ts";
import type { SourceFile } from "./files.ts";

const REJECTS_MAX = 10_000_000;

/** The expression after FROM that reads a text file by its dialect. */
export function csvFunction(file: SourceFile, sniffed: CsvDialect, { storeRejects = true } = {}): string {
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
  ];
  return `read_csv(${literal(file.path)}, ${options.join(", ")})`;
}
