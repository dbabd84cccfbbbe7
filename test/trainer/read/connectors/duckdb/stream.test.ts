import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isStuck } from "../../../../../trainer/read/connectors/duckdb/interruptible.ts";
import { type StreamLimits, streamRows } from "../../../../../trainer/read/connectors/duckdb/stream.ts";
import { StageError } from "../../../../../trainer/stage/stage-error.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(() => connection.closeSync());

const limits = (given: Partial<StreamLimits> = {}): StreamLimits => ({
  signal: new AbortController().signal,
  timeoutSeconds: 30,
  rowsMax: 1e9,
  explain: (error) => new StageError("fetching", "explained", String(error)),
  ...given,
});

async function count(sql: string, given: Partial<StreamLimits> = {}): Promise<number> {
  let rows = 0;
  for await (const chunk of (await streamRows(connection, sql, limits(given))).chunks) rows += chunk.rowCount;
  return rows;
}

test("all rows within the limit are read", async () => {
  expect(await count("FROM range(5000)", { rowsMax: 5000 })).toBe(5000);
  expect(await count("FROM range(0)")).toBe(0);
});

test("one row too many stops the stream", () =>
  expect(count("FROM range(5001)", { rowsMax: 5000 })).rejects.toMatchObject({ code: "too_many_rows" }));

test("an error during the stream is explained", () =>
  expect(
    count("SELECT CASE WHEN range = 400_000 THEN error('late') ELSE 1 END FROM range(500_000)"),
  ).rejects.toMatchObject({
    code: "explained",
  }));

test("the time between two chunks counts for the deadline", async () => {
  const { chunks } = await streamRows(connection, "FROM range(1_000_000_000)", limits({ timeoutSeconds: 0.2 }));
  const slowly = async () => {
    for await (const _ of chunks) await new Promise((resolve) => setTimeout(resolve, 60));
  };
  await expect(slowly()).rejects.toMatchObject({ code: "source_timeout" });
  expect(await count("FROM range(3)")).toBe(3); // the connection is free again
});

test("a statement that cannot be interrupted gives up its connection", async () => {
  const own = await (await DuckDBInstance.create(":memory:")).connect();
  // Compiling an expression of depth 900 takes many seconds, and once begun nothing interrupts it.
  const deep = `SELECT 1${"+1".repeat(900)}`;
  const given = limits({ timeoutSeconds: 1 });
  await expect(streamRows(own, deep, given)).rejects.toMatchObject({ code: "source_timeout" });
  expect(isStuck(own)).toBe(true);
}, 20_000);
