import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { areLists, listsScanOf } from "../../../../trainer/choose/files/interaction-lists.ts";

const folder = mkdtempSync(join(tmpdir(), "interaction-lists-"));
const connecting = DuckDBInstance.create(":memory:").then((instance) => instance.connect());
let connection: Awaited<typeof connecting>;
beforeAll(async () => {
  connection = await connecting;
});
afterAll(async () => {
  connection.closeSync();
  await rm(folder, { recursive: true });
});
let fileCount = 0;
const file = (content: string | Uint8Array, extension = "txt") => {
  const path = join(folder, `${fileCount++}.${extension}`);
  writeFileSync(path, content);
  return path;
};

test.each([
  ["a user's items, blanks at ends, a user without any", "0 5 007 9 \n1 5\n\n2\n", true, true],
  ["tabs and other ends of lines", "0\t5\t6\r\n1\t5\r\n", true, true],
  ["as many in each line: a table without a header", "0 5\n1 6\n", false, true],
  ["a header", "user item\n0 5 6\n", false, false],
  ["a table with commas", "0,5\n1,6,7\n", false, false],
  ["nothing", "", false, false],
  ["words", "a b c\nd e\n", false, false],
])("lists of items: %s", async (_, content, isRagged, isLoose) => {
  const path = file(content);
  expect(await areLists(connection, path, { ragged: true })).toBe(isRagged);
  expect(await areLists(connection, path, { ragged: false })).toBe(isLoose);
});

test("a row for each item of each line, in the order of the file, ids as they are written, also of a gzipped file", async () => {
  const content = "0 5 007 9 \n1 5\n\n2\n10\t3  4\r\n";
  for (const path of [file(content), file(gzipSync(content), "txt.gz")]) {
    const reader = await connection.runAndReadAll(`SELECT * FROM ${listsScanOf(path)} WHERE user_id <> ''`);
    expect(reader.getRows().map(([user, item]) => `${user} ${item}`)).toEqual([
      "0 5",
      "0 007",
      "0 9",
      "1 5",
      "10 3",
      "10 4",
    ]);
  }
});

test("no others are: another kind of file, or none", async () => {
  expect(await areLists(connection, file("{}", "json"), { ragged: false })).toBe(false);
  expect(await areLists(connection, file("0 5\n1 5 6\n", "parquet"), { ragged: false })).toBe(false);
  expect(await areLists(connection, join(folder, "none.txt"), { ragged: true })).toBe(false);
});
