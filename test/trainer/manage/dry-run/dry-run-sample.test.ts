import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { meanRowBytes, sampleRows } from "../../../../trainer/manage/dry-run/dry-run-sample.ts";
import { openStaging, type StagedTable, type Staging } from "../../../../trainer/read/dataset/staging.ts";

let folder: string;
let staging: Staging;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dry-run-sample-"));
  staging = await openStaging({ workDirectory: folder, memoryMb: 64, signal: new AbortController().signal });
});
afterAll(async () => {
  await staging.close();
  await rm(folder, { recursive: true });
});

async function tableOf(name: string, query: string): Promise<StagedTable> {
  await staging.connection.run(`CREATE TABLE ${name} AS ${query}`);
  const reader = await staging.connection.runAndReadAll(`SELECT * FROM ${name}`);
  const columns = reader.columnNames().map((sql, i) => ({ sql, name: `the ${sql}`, type: reader.columnType(i) }));
  return { name, rows: reader.currentRowCount, columns };
}

test("the first five rows as JSON values", async () => {
  const table = await tableOf(
    "several",
    `SELECT range AS n, 9007199254740993::BIGINT AS big, 'nan'::DOUBLE AS odd, ['a', NULL] AS words, NULL AS nothing,
       TIMESTAMP '2024-02-29 12:00:00.5' AS moment,
       TIMESTAMPTZ '2024-02-29 12:00:00+02' AS instant, repeat('x', 1000000) AS words_of, true AS good,
       '\\x00a'::BLOB AS bytes FROM range(7)`,
  );
  const rows = await sampleRows(staging, table);
  expect(JSON.parse(JSON.stringify(rows))).toEqual(rows);
  expect(rows).toHaveLength(5);
  expect(rows[3]).toEqual({
    "the n": 3,
    "the big": "9007199254740993",
    "the odd": "NaN",
    "the words": ["a", null],
    "the nothing": null,
    "the moment": "2024-02-29T12:00:00.5",
    "the instant": "2024-02-29T10:00:00Z",
    "the words_of": `${"x".repeat(200)}…`,
    "the good": true,
    "the bytes": "AGE=",
  });
});

test("an empty table has no sample and no row size", async () => {
  const table = await tableOf("none", "SELECT 1 AS n WHERE false");
  expect(await sampleRows(staging, table)).toEqual([]);
  expect(await meanRowBytes(staging, table)).toBe(0);
});

test("a row's bytes: 8 for a number, 2 and its UTF-8 for a text, 1 for a boolean: 8 + (2 + 3) + 1 = 14", async () => {
  const table = await tableOf(
    "sized",
    "SELECT 7::BIGINT AS n, 'éa' AS text, true AS good UNION ALL SELECT 8, 'abc', false",
  );
  expect(await meanRowBytes(staging, table)).toBe(14);
});
