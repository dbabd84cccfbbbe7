import type { DuckDBConnection, DuckDBResult } from "@duckdb/node-api";
import type { ReadSinceOptions, SourceColumn, SourceRows } from "../connector.ts";
import { type SourceFile, stateOf } from "../duckdb/files.ts";
import { identifier } from "../duckdb/quote.ts";
import { duckdbSince } from "../duckdb/since.ts";
import { type StreamLimits, streamRows } from "../duckdb/stream.ts";
import { type RowsSince, TALLY_MODULUS, type Unsuitable, unsuitableType } from "../since.ts";

type FilesQuery = {
  /** A checked SELECT. */
  readonly inner: string;
  /** The files that it reads. */
  readonly files: readonly SourceFile[];
  readonly limits: StreamLimits;
};

/** A query over Parquet files parted by time. Files have no transactions: that they are left alone meanwhile is checked. */
export async function readFilesSince(
  connection: DuckDBConnection,
  { inner, files, limits }: FilesQuery,
  { since, columns }: ReadSinceOptions,
): Promise<RowsSince | Unsuitable> {
  // Text is parsed whole whatever is asked of it, and the types that it is given depend on rows to come.
  const text = files.find(({ format }) => format !== "parquet");
  if (text !== undefined)
    return { unsuitable: `${JSON.stringify(text.shownAs)} is text, which is parsed whole in any case; Parquet is not` };
  const stateBefore = await stateOf(files);
  const column = identifier(since.column);
  const query = (list: string, rest: string) =>
    streamRows(connection, `SELECT ${list} FROM (\n${inner}\n) ${rest}`, limits);
  const typed = await query(column, "LIMIT 0");
  const type = typed.result.columnType(0);
  for await (const _ of typed.chunks); // the connection is free then
  const sql = duckdbSince(column, type, since);
  if (sql === undefined) return unsuitableType(since.column, String(type));
  return {
    async before() {
      const tally = `count(*), coalesce(sum(${sql.number} % ${TALLY_MODULUS}), 0)::BIGINT`;
      const { chunks } = await query(tally, `WHERE ${sql.isBefore}`);
      const rows = [];
      for await (const chunk of chunks) rows.push(...chunk.getRows());
      return { rows: Number(rows[0]![0]), times: rows[0]![1] as bigint };
    },
    async rows(): Promise<SourceRows> {
      const stream = await query(columns?.map(identifier).join(", ") ?? "*", `WHERE ${sql.isSince}`);
      return { columns: columnsOf(stream.result), chunks: stream.chunks, expectedRows: null };
    },
    hasChanged: async () => (await stateOf(files)) !== stateBefore,
  };
}

/** In the order of the result. */
export const columnsOf = (result: DuckDBResult): SourceColumn[] =>
  result.deduplicatedColumnNames().map((name, i) => ({ name, type: result.columnType(i) }));
