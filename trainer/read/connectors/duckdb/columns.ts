import type { DuckDBResult } from "@duckdb/node-api";
import type { SourceColumn } from "../connector.ts";

export const columnsOf = (result: DuckDBResult): SourceColumn[] =>
  result.deduplicatedColumnNames().map((name, i) => ({ name, type: result.columnType(i) }));

export type TypedColumn = {
  readonly name: string;
  readonly type: string;
  /**
   * Whether every value, read as an id (rules/id-expression.ts), has the text that stands in the file. If only whole numbers with a
   * point are there, such as 12.0, they count as exact although the id is 12.
   */
  readonly isExact: boolean;
};

/** How a file is read. */
export type FileTable = {
  /** Columns whose values are texts in the file, with the types that were found for them. */
  readonly columns: readonly TypedColumn[];
  /**
   * The expression after FROM.
   *
   * @param asText Names of columns to read as they are written.
   * @param writtenSinceMs A table of many files leaves out the rows of files that were last written before this time.
   */
  from(asText?: ReadonlySet<string>, writtenSinceMs?: number): string;
};
