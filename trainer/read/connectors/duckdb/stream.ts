import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from "@duckdb/node-api";
import type { StageError } from "../../../stage/stage-error.ts";
import type { SourceColumn } from "../connector.ts";
import { startDeadline, withinLimits } from "../limits.ts";
import { columnsOf } from "./columns.ts";
import { interruptible } from "./interruptible.ts";
import { streamWhole } from "./whole-stream.ts";

export type StreamLimits = {
  readonly signal: AbortSignal;
  readonly timeoutSeconds: number;
  readonly rowsMax: number;
  /** DuckDB's error as the customer may see it. */
  readonly explain: (error: unknown) => StageError;
};

export type QueryStream = { readonly result: DuckDBResult; readonly chunks: AsyncGenerator<DuckDBDataChunk> };

/**
 * The rows of a statement, chunk by chunk as they are computed, within limits. The connection is free again when `chunks` has
 * ended or failed.
 *
 * Throws StageError `source_timeout`, `too_many_rows`, or `explain` of DuckDB's error; the signal's reason when it is aborted.
 */
export async function streamRows(
  connection: DuckDBConnection,
  sql: string,
  { signal: caller, timeoutSeconds, rowsMax, explain }: StreamLimits,
): Promise<QueryStream> {
  const deadline = startDeadline(caller, timeoutSeconds);
  const run = <Value>(step: () => Promise<Value>) =>
    interruptible(connection, { signal: deadline.signal, explain }, step);
  try {
    const stream = await run(() => streamWhole(connection, sql));
    const read = async function* () {
      for (let chunk = await run(stream.next); chunk !== undefined; chunk = await run(stream.next)) yield chunk;
    };
    const end = async () => {
      deadline.end();
      await stream.leave();
    };
    return { result: stream.result, chunks: withinLimits(read(), { rowsMax, end }) };
  } catch (error) {
    deadline.end();
    throw error;
  }
}

/** The columns of a statement, which is not run. Throws what streamRows throws. */
export async function columnsOfRows(
  connection: DuckDBConnection,
  sql: string,
  { signal: caller, timeoutSeconds, explain }: StreamLimits,
): Promise<SourceColumn[]> {
  const { signal, end } = startDeadline(caller, timeoutSeconds);
  try {
    return columnsOf(await interruptible(connection, { signal, explain }, () => connection.run(`${sql} LIMIT 0`)));
  } finally {
    end();
  }
}
