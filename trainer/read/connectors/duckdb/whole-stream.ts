import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from "@duckdb/node-api";
import { isStuck } from "./interruptible.ts";

/** All chunks of a statement, as they are computed. */
export type WholeStream = {
  readonly result: DuckDBResult;
  /** The next chunk; undefined after the last. Throws when the statement has failed. */
  next(): Promise<DuckDBDataChunk | undefined>;
  /** Frees the connection. Needed when the caller stops before `next` has given undefined or thrown. */
  leave(): Promise<void>;
};

/** Connections whose last reader has not come to the end of its chunks. */
const unfinished = new WeakSet<DuckDBConnection>();

/**
 * Starts a statement whose rows are read as a stream. DuckDB's client ends a stream that fails half-way like a complete one.
 * But such a failure also aborts the transaction. So each statement has a transaction of its own, which is checked at the end.
 * The error itself is found by running the statement again without a stream.
 *
 * The connection must not be used for anything else before the end.
 */
export async function streamWhole(connection: DuckDBConnection, sql: string): Promise<WholeStream> {
  const end = async (statement: "COMMIT" | "ROLLBACK") => {
    await connection.run(statement);
    unfinished.delete(connection);
  };
  if (unfinished.has(connection)) await end("ROLLBACK");
  await connection.run("BEGIN TRANSACTION");
  unfinished.add(connection);
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
      if (unfinished.has(connection) && !isStuck(connection)) await end("ROLLBACK");
    },
  };
}

const isAborted = (connection: DuckDBConnection): Promise<boolean> =>
  connection.run("SELECT 1").then(
    () => false,
    () => true,
  );

/** The statement's error, found by computing all its values without keeping them. */
async function failureOf(connection: DuckDBConnection, sql: string): Promise<unknown> {
  return await connection.run(`SELECT max(hash(q)) FROM (\n${sql}\n) q`).then(
    () => new Error("The query broke off while it ran"),
    (error) => error,
  );
}
