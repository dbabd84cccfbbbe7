import type { DuckDBConnection, DuckDBResult } from "@duckdb/node-api";
import type { ReadSinceOptions } from "../connector.ts";
import { type SourceFile, stateOf } from "../duckdb/files.ts";
import { identifier } from "../duckdb/quote.ts";
import { duckdbSince } from "../duckdb/since.ts";
import { type StreamLimits, streamRows } from "../duckdb/stream.ts";
import { type RowsSince, type SinceSql, TALLY_MODULUS, type Tally, type Unsuitable, unsuitableType } from "../since.ts";
import type { SourceColumn, SourceRows } from "../source-rows.ts";
import { changedError, mayBeOfChange } from "./file-watch.ts";

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
  const hasChanged = async () => (await stateOf(files)) !== stateBefore;
  const throwReason = async (error: unknown): Promise<never> => {
    throw mayBeOfChange(error) && (await hasChanged()) ? changedError(files) : error;
  };
  const column = identifier(since.column);
  const query = (list: string, rest: string) =>
    streamRows(connection, `SELECT ${list} FROM (\n${inner}\n) ${rest}`, limits);
  const typeOf = async () => {
    const { result, chunks } = await query(column, "LIMIT 0");
    for await (const _ of chunks); // the connection is free then
    return result.columnType(0);
  };
  const tallyBefore = async ({ number, isBefore }: SinceSql): Promise<Tally> => {
    const tally = `count(*), coalesce(sum(${number} % ${TALLY_MODULUS}), 0)::BIGINT`;
    const { chunks } = await query(tally, `WHERE ${isBefore}`);
    const rows = [];
    for await (const chunk of chunks) rows.push(...chunk.getRows());
    return { rows: Number(rows[0]![0]), times: rows[0]![1] as bigint };
  };
  const rowsSince = async ({ isSince }: SinceSql): Promise<SourceRows> => {
    const stream = await query(columns?.map(identifier).join(", ") ?? "*", `WHERE ${isSince}`);
    const chunks = async function* () {
      try {
        yield* stream.chunks;
      } catch (error) {
        await throwReason(error);
      }
    };
    return { columns: columnsOf(stream.result), chunks: chunks(), expectedRows: null };
  };
  const type = await typeOf().catch(throwReason);
  const sql = duckdbSince(column, type, since);
  if (sql === undefined) return unsuitableType(since.column, String(type));
  return {
    before: () => tallyBefore(sql).catch(throwReason),
    rows: () => rowsSince(sql).catch(throwReason),
    hasChanged,
  };
}

/** In the order of the result. */
export const columnsOf = (result: DuckDBResult): SourceColumn[] =>
  result.deduplicatedColumnNames().map((name, i) => ({ name, type: result.columnType(i) }));
