import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles } from "../../../../../trainer/read/connectors/duckdb/files.ts";
import { jsonTable } from "../../../../../trainer/read/connectors/duckdb/json-table.ts";

let root: string;
let connection: DuckDBConnection;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "duckdb-json-table-"));
  connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run("SET TimeZone = 'UTC'"); // as the sandbox has it
});
afterAll(async () => {
  connection.closeSync();
  await rm(root, { recursive: true, force: true });
});

async function valuesOf(name: string, objects: readonly object[], typedByRows?: number): Promise<unknown[][]> {
  await writeFile(join(root, name), objects.map((one) => JSON.stringify(one)).join("\n"));
  const [file] = await findFiles(name, [root]);
  const rows = await connection.runAndReadAll(
    `SELECT * FROM ${(await jsonTable(connection, file!, typedByRows)).from()}`,
  );
  return rows.getRowsJson();
}

test("values and keys after the first 20,480 objects are neither rounded nor refused", async () => {
  const rows = [...Array(30_000).fill({ r: 4, i: 7 }), { r: 4.5, i: "x", brand: "b" }];
  expect((await valuesOf("late.jsonl", rows)).at(-1)).toEqual([4.5, "x", "b"]);
  // Unless there is no time to look at all.
  const [rounded] = (await valuesOf("late.jsonl", [...rows.slice(0, -1), { r: 4.6, i: 8 }], 100)).slice(-1);
  expect(rounded).toEqual(["5", "8"]);
});

test("texts are not changed, also in a column of several types", async () => {
  const id = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11";
  const rows = await valuesOf("kinds.jsonl", [
    { id, n: 7, tags: "red", o: { a: 1 }, l: ["x"] },
    { id, n: "7", tags: ["red", "blue"], o: { a: 2 }, l: [] },
  ]);
  expect(rows).toEqual([
    [id, "7", "red", { a: "1" }, ["x"]],
    [id, "7", '["red","blue"]', { a: "2" }, []],
  ]);
});

test("times with a zone are converted to UTC", async () => {
  const clocks = ["10:00:00+02:00", "10:00:00-0200", "10:00:00Z"];
  const rows = await valuesOf(
    "zones.jsonl",
    clocks.map((clock) => ({ t: `2024-01-01T${clock}` })),
  );
  expect(rows.flat()).toEqual(["2024-01-01 08:00:00", "2024-01-01 12:00:00", "2024-01-01 10:00:00"]);
});

test("only times that begin with the year are times; other forms stay text", async () => {
  expect(await valuesOf("iso.jsonl", [{ t: "2024-01-05T10:00:00Z" }])).toEqual([["2024-01-05 10:00:00"]]);
  expect(await valuesOf("months-first.jsonl", [{ d: "01-13-2024" }, { d: "12-31-2024" }])).toEqual([
    ["01-13-2024"],
    ["12-31-2024"],
  ]);
  expect(await valuesOf("two-digits.jsonl", [{ d: "10-05-05", t: "2024-01-05" }])).toEqual([
    ["10-05-05", "2024-01-05"],
  ]);
});

test("nested times, keys that differ in case and values that are no objects are read with DuckDB's own types", async () => {
  expect(await valuesOf("nested.jsonl", [{ o: { d: "01-13-2024" } }])).toEqual([[{ d: "2024-01-13" }]]);
  expect(await valuesOf("case.jsonl", [{ Id: 1, id: 2 }])).toEqual([["1", "2"]]);
  expect(await valuesOf("lists.jsonl", [[1], [2]])).toEqual([[["1"]], [["2"]]]);
});
