import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from "@duckdb/node-api";
import { StageError } from "../../../stage/stage-error.ts";
import { streamWhole, type WholeStream } from "./whole-stream.ts";

export type StreamLimits = {
  readonly signal: AbortSignal;
  readonly timeoutSeconds: number;
  readonly rowsMax: number;
  /** An error of DuckDB's as the customer may see it. */
  readonly explain: (error: unknown) => StageError;
  /** Called when a statement did not stop in time: the connection still works on it and must not be closed. */
  readonly onAbandoned: () => void;
};

/** Compiling a statement cannot be interrupted; who waits for it gives up so long after the deadline. */
const GRACE_MS = 3_000;

export type QueryStream = { readonly result: DuckDBResult; readonly chunks: AsyncGenerator<DuckDBDataChunk> };

/**
 * The rows of a statement, chunk by chunk as they are computed, within limits. The deadline counts from the call on,
 * and the time the caller takes between chunks counts too.
 *
 * Throws StageError `source_timeout`, `too_many_rows`, or what `explain` makes of DuckDB's error; the signal's reason
 * when it is aborted. The connection is free again when `chunks` has ended, by whatever end.
 */
export async function streamRows(
  connection: DuckDBConnection,
  sql: string,
  limits: StreamLimits,
): Promise<QueryStream> {
  const watch = watchQuery(connection, limits);
  try {
    const stream = await watch.run(() => streamWhole(connection, sql));
    return { result: stream.result, chunks: readChunks(stream, watch, limits) };
  } catch (error) {
    watch.end();
    throw error;
  }
}

async function* readChunks(stream: WholeStream, watch: QueryWatch, limits: StreamLimits) {
  try {
    for (let rows = 0; ; ) {
      const chunk = await watch.run(() => stream.next());
      if (chunk === undefined) return;
      rows += chunk.rowCount;
      if (rows > limits.rowsMax)
        throw new StageError(
          "fetching",
          "too_many_rows",
          `The query gives more than the ${limits.rowsMax} rows allowed; narrow it, such as to the newest interactions`,
        );
      yield chunk;
    }
  } finally {
    watch.end();
    if (!watch.isAbandoned()) await stream.leave();
  }
}

type QueryWatch = {
  /** The value of a step, unless the query is stopped: then the reason is thrown. */
  run<Value>(step: () => Promise<Value>): Promise<Value>;
  /** Whether a step did not stop in time, so that the connection is still at work. */
  isAbandoned(): boolean;
  end(): void;
};

/** Interrupts the connection's statement at the deadline or when the signal is aborted. */
function watchQuery(connection: DuckDBConnection, limits: StreamLimits): QueryWatch {
  const { signal, timeoutSeconds } = limits;
  let reason: unknown;
  let giveUp: (() => void) | undefined;
  let abandoned = false;
  const stop = (why: unknown) => {
    reason ??= why;
    connection.interrupt();
    setTimeout(() => giveUp?.(), GRACE_MS).unref();
  };
  const onAbort = () => stop(signal.reason);
  const timer = setTimeout(() => stop(timeoutError(timeoutSeconds)), timeoutSeconds * 1000).unref();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) reason = signal.reason;

  return {
    async run(step) {
      if (reason !== undefined) throw reason;
      const gaveUp = new Promise<never>((_, reject) => {
        giveUp = () => {
          abandoned = true;
          limits.onAbandoned();
          reject(reason);
        };
      });
      try {
        return await Promise.race([step(), gaveUp]);
      } catch (error) {
        throw reason ?? limits.explain(error);
      } finally {
        giveUp = undefined;
      }
    },
    isAbandoned: () => abandoned,
    end() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

const timeoutError = (seconds: number) =>
  new StageError(
    "fetching",
    "source_timeout",
    `The query ran longer than the ${seconds} seconds allowed; make it read less, or ask the operator for more time`,
  );
