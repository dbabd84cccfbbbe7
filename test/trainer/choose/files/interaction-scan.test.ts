import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  aboutFile,
  columnNamed,
  columnsOf,
  InteractionFileError,
  textScanOf,
  typedScanOf,
} from "../../../../trainer/choose/files/interaction-scan.ts";

const folder = mkdtempSync(join(tmpdir(), "interaction-scan-"));
let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(async () => {
  connection.closeSync();
  await rm(folder, { recursive: true });
});
const file = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const rowsOf = async (scan: string) => (await connection.runAndReadAll(`SELECT * FROM ${scan}`)).getRowsJson();

test.each([
  ["a's.csv", 'id,"n ""x"""\n007,1.5\n'],
  ["a.tsv", 'id\t"n ""x"""\n007\t1.5\n'],
  ["a.jsonl", '{"id":"007","n \\"x\\"":1.5}\n'],
  ["a.json", '[{"id":"007","n \\"x\\"":1.5}]'],
])("%s: as text all is as it is written; typed, the ids are", async (name, content) => {
  const path = file(name, content);
  expect(await rowsOf(await textScanOf(connection, path, ['n "x"', "id"]))).toEqual([["1.5", "007"]]);
  const columns = await columnsOf(connection, path, { typed: true });
  expect(await rowsOf(await typedScanOf(connection, path, { columns, id: "id" }))).toEqual([["007", 1.5]]);
});
test.each(["csv", "jsonl", "parquet"])("of a %s no column is its folder's name", async (extension) => {
  mkdirSync(join(folder, "id=5"), { recursive: true });
  const path = join(folder, "id=5", `a.${extension}`);
  await connection.run(`COPY (SELECT '7' AS id) TO '${path}'${extension === "jsonl" ? " (FORMAT json)" : ""}`);
  expect((await columnsOf(connection, path)).map(({ name }) => name)).toEqual(["id"]);
  expect(await rowsOf(await textScanOf(connection, path, ["id"]))).toEqual([["7"]]);
});
test("a column that only late rows of JSON Lines have is one", async () => {
  const path = file("late.jsonl", `${'{"id":1}\n'.repeat(25_000)}{"id":2,"clicked":true}\n`);
  expect((await columnsOf(connection, path)).map(({ name }) => name)).toEqual(["id", "clicked"]);
});
test("the columns of a file by name, or an error that lists them", async () => {
  const path = file("b.csv", "id,n\n1,2\n");
  const columns = await columnsOf(connection, path);
  expect(columnNamed(path, columns, "n")).toBe(columns[1]);
  expect(() => columnNamed(path, columns, "m", " for it")).toThrow(
    'has no column "m" for it; its columns are "id", "n".',
  );
});
test("what DuckDB complains about is about the file; our own errors stay", async () => {
  await expect(aboutFile("x.csv", () => connection.run("SELECT nothing"))).rejects.toThrow(/^x\.csv cannot be read: /);
  const own = new InteractionFileError("so");
  await expect(aboutFile("x.csv", () => Promise.reject(own))).rejects.toBe(own);
});
