import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles } from "../../../../../trainer/read/connectors/duckdb/files.ts";
import { parquetTable } from "../../../../../trainer/read/connectors/duckdb/parquet-table.ts";

let root: string;
let connection: DuckDBConnection;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "duckdb-parquet-table-"));
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(async () => {
  connection.closeSync();
  await rm(root, { recursive: true, force: true });
});

/** The types and the values of a query's columns once they went through a Parquet file. */
async function through(query: string, typedByRows?: number) {
  await connection.run(`COPY (${query}) TO '${join(root, "t.parquet")}' (FORMAT parquet)`);
  const [file] = await findFiles("t.parquet", [root]);
  const table = await parquetTable(connection, file!, typedByRows);
  const result = await connection.runAndReadAll(`SELECT * FROM ${table.from()}`);
  return { types: result.columnTypes().map(String), rows: result.getRowsJson() };
}

test("texts without the mark of UTF-8 are texts, also in lists", async () => {
  const rows = "SELECT encode('jü' || range) AS u, [encode('a'), NULL] AS tags, range AS n, 'x' AS t FROM range(2)";
  expect(await through(rows)).toEqual({
    types: ["VARCHAR", "VARCHAR[]", "BIGINT", "VARCHAR"],
    rows: [
      ["jü0", ["a", null], "0", "x"],
      ["jü1", ["a", null], "1", "x"],
    ],
  });
  expect((await through("SELECT NULL::BLOB AS b")).rows).toEqual([[null]]);
});

test("bytes of which some are no UTF-8 stay bytes, whichever rows have them", async () => {
  const late =
    "SELECT CASE range WHEN 4000 THEN '\\xFF'::BLOB ELSE encode('a') END AS hash, encode('b') AS u FROM range(5000)";
  expect((await through(late)).types).toEqual(["BLOB", "VARCHAR"]);
  expect((await through("SELECT ['\\xFF'::BLOB] AS l")).types).toEqual(["BLOB[]"]);
});
