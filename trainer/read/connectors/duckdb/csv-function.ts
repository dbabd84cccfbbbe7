import { literal } from "../sql-text.ts";
import type { CsvDialect } from "./csv-dialect.ts";
import type { SourceFile } from "./files.ts";

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
