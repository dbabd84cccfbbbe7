import type { DuckDBConnection, DuckDBResult } from "@duckdb/node-api";
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

/** Columns to read as they are written, by table. */
export type TextColumns = ReadonlyMap<string, ReadonlySet<string>>;
export const NO_TEXTS: TextColumns = new Map();

/** The names and types that DuckDB finds for the expression after a FROM. */
export async function describeColumns(connection: DuckDBConnection, from: string) {
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${from}`);
  return described.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }));
}

/** The subjects whose condition no row contradicts, among the first rows; −1: all. */
export async function holdingIn<Subject>(
  connection: DuckDBConnection,
  { from, rows }: { readonly from: string; readonly rows: number },
  conditions: readonly { readonly subject: Subject; readonly sql: string }[],
): Promise<Subject[]> {
  if (conditions.length === 0) return [];
  const among = rows < 0 ? from : `(FROM ${from} LIMIT ${rows})`;
  const hold = conditions.map(({ sql }) => `coalesce(bool_and(${sql}), true)`);
  const [found] = (await connection.runAndReadAll(`SELECT ${hold.join(", ")} FROM ${among}`)).getRows();
  return conditions.filter((_, i) => found![i] === true).map(({ subject }) => subject);
}
