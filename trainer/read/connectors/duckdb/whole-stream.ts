import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from "@duckdb/node-api";

/** The chunks of a statement as they are computed, and certainty that they were all. */
export type WholeStream = {
  readonly result: DuckDBResult;
  /** The next chunk; undefined after the last. Throws when the statement failed on the way. */
  next(): Promise<DuckDBDataChunk | undefined>;
  /** Frees the connection. Needed when the caller leaves before `next` has given undefined or thrown. */
  leave(): Promise<void>;
};

/**
 * Starts a statement whose rows are read as a stream. DuckDB's client ends a stream that fails half-way like one that is
 * complete; but such a failure also aborts the transaction, so each statement has one of its own, which is asked at the
 * end. What went wrong is then learnt by running the statement again without a stream.
 *
 * The connection must not be used for anything else before the end.
 */
export async function streamWhole(connection: DuckDBConnection, sql: string): Promise<WholeStream> {
  // A reader that never came for its chunks has left its transaction open.
  await connection.run("ROLLBACK").catch(() => undefined);
  await connection.run("BEGIN TRANSACTION");
  let isOpen = true;
  const end = async (statement: "COMMIT" | "ROLLBACK") => {
    isOpen = false;
    await connection.run(statement);
  };
  let result: DuckDBResult;
  try {
    result = await connection.stream(sql);
  } catch (error) {
    await end("ROLLBACK");
    throw error;
  }
  return {
    result,
    async next() {
      const chunk = await result.fetchChunk();
      if (chunk !== null && chunk.rowCount > 0) return chunk;
      if (await isAborted(connection)) {
        await end("ROLLBACK");
        throw await failureOf(connection, sql);
      }
      await end("COMMIT");
      return undefined;
    },
    async leave() {
      if (isOpen) await end("ROLLBACK");
    },
  };
}

const isAborted = (connection: DuckDBConnection): Promise<boolean> =>
  connection.run("SELECT 1").then(
    () => false,
    () => true,
  );

/** The error of a statement, of which every value is computed and none is kept. */
async function failureOf(connection: DuckDBConnection, sql: string): Promise<unknown> {
  return await connection.run(`SELECT max(hash(q)) FROM (\n${sql}\n) q`).then(
    () => new Error("The query broke off while it ran"),
    (error) => error,
  );
}
