/**
 * The limits of every reading. A query and its rows have one deadline: `timeoutSeconds` from the beginning of the query, which
 * includes the time that the reader takes between two chunks. And it gives at most `rowsMax` rows. A source on the network has
 * also a limit for each of its answers.
 */
import type { DuckDBDataChunk } from "@duckdb/node-api";
import { silentError, timeoutError, tooManyRows } from "./source-error.ts";

export type Deadline = {
  /** Aborted when the caller's signal is, or with StageError `source_timeout` at the deadline. */
  readonly signal: AbortSignal;
  /** Stops the clock. */
  end(): void;
};

export function startDeadline(caller: AbortSignal, timeoutSeconds: number): Deadline {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(timeoutError(timeoutSeconds)), timeoutSeconds * 1000).unref();
  return { signal: AbortSignal.any([caller, late.signal]), end: () => clearTimeout(timer) };
}

/** Waits for the answer of a source. Throws StageError `source_silent` when none comes in time, without cancelling the request. */
export async function unlessSilent<Answer>(answer: Promise<Answer>, silenceSeconds: number): Promise<Answer> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(silentError(silenceSeconds, "SHORTLIST_SILENCE_SECONDS"));
  const timer = setTimeout(giveUp, silenceSeconds * 1000);
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}

/** The chunks, up to the limit. Calls `end` after the last one, also when reading fails or the reader stops early. */
export async function* withinLimits<Chunk extends Pick<DuckDBDataChunk, "rowCount">>(
  chunks: AsyncIterable<Chunk>,
  { rowsMax, end }: { readonly rowsMax: number; readonly end: () => void | Promise<void> },
): AsyncGenerator<Chunk> {
  let rows = 0;
  try {
    for await (const chunk of chunks) {
      rows += chunk.rowCount;
      if (rows > rowsMax) throw tooManyRows(rowsMax);
      yield chunk;
    }
  } finally {
    await end();
  }
}
