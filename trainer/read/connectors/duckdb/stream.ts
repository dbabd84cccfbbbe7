import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from "@duckdb/node-api";
import type { StageError } from "../../../stage/stage-error.ts";
import { startDeadline, withinLimits } from "../limits.ts";
import { streamWhole, type WholeStream } from "./whole-stream.ts";

export type StreamLimits = {
  readonly signal: AbortSignal;
  readonly timeoutSeconds: number;
  readonly rowsMax: number;
  /** DuckDB's error as the customer may see it. */
  readonly explain: (error: unknown) => StageError;
  /** Called when a statement did not stop in time: the connection still runs it and must not be closed. */
  readonly onAbandoned: () => void;
};

/** Compiling a statement cannot be interrupted, so it is abandoned this long after the deadline or the abort. */
const GRACE_MS = 3_000;

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
  limits: StreamLimits,
): Promise<QueryStream> {
  const watch = watchQuery(connection, limits);
  try {
    const stream = await watch.run(() => streamWhole(connection, sql));
    const end = async () => {
      watch.end();
      if (!watch.isAbandoned()) await stream.leave();
    };
    return { result: stream.result, chunks: withinLimits(readChunks(stream, watch), { rowsMax: limits.rowsMax, end }) };
  } catch (error) {
    watch.end();
    throw error;
  }
}

async function* readChunks(stream: WholeStream, watch: QueryWatch) {
  for (;;) {
    const chunk = await watch.run(() => stream.next());
    if (chunk === undefined) return;
    yield chunk;
  }
}

type QueryWatch = {
  /** The step's value. When the query is stopped meanwhile, the reason of the stop is thrown. */
  run<Value>(step: () => Promise<Value>): Promise<Value>;
  /** True when a step did not stop in time, so that the connection still runs it. */
  isAbandoned(): boolean;
  end(): void;
};

/** Interrupts the connection's statement at the deadline or when the signal is aborted. */
function watchQuery(connection: DuckDBConnection, limits: StreamLimits): QueryWatch {
  const deadline = startDeadline(limits.signal, limits.timeoutSeconds);
  const { signal } = deadline;
  let abandon: (() => void) | undefined;
  let isAbandoned = false;
  const interrupt = () => {
    connection.interrupt();
    setTimeout(() => abandon?.(), GRACE_MS).unref();
  };
  signal.addEventListener("abort", interrupt, { once: true });

  return {
    async run(step) {
      signal.throwIfAborted();
      const abandoned = new Promise<never>((_, reject) => {
        abandon = () => {
          isAbandoned = true;
          limits.onAbandoned();
          reject(signal.reason);
        };
      });
      try {
        return await Promise.race([step(), abandoned]);
      } catch (error) {
        throw signal.aborted ? signal.reason : limits.explain(error);
      } finally {
        abandon = undefined;
      }
    },
    isAbandoned: () => isAbandoned,
    end() {
      deadline.end();
      signal.removeEventListener("abort", interrupt);
    },
  };
}
