import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles } from "../../../../../trainer/read/connectors/duckdb/files.ts";
import { estimateRows } from "../../../../../trainer/read/connectors/duckdb/row-estimate.ts";

let root: string;
let connection: DuckDBConnection;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "row-estimate-"));
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(async () => {
  connection.closeSync();
  await rm(root, { recursive: true, force: true });
});

async function estimate(name: string, content?: string | Uint8Array): Promise<number | null> {
  if (content !== undefined) await writeFile(join(root, name), content);
  return await estimateRows(connection, (await findFiles(name, [root]))[0]!);
}

const csv = (rows: number) =>
  `a,b\n${Array.from({ length: rows }, (_, n) => `${n},${(n * 7919) % 10_007}\n`).join("")}`;

test("the rows of small files are counted", async () => {
  expect(await estimate("a.csv", csv(10))).toBe(10);
  expect(await estimate("a.csv.gz", gzipSync(csv(10)))).toBe(10);
  expect(await estimate("a.jsonl", '{"a":1}\n{"a":2}\n')).toBe(2);
  expect(await estimate("a.csv", "")).toBe(0);
});

test("the rows of a Parquet file come from its metadata", async () => {
  await connection.run(`COPY (FROM range(12345)) TO '${join(root, "a.parquet")}'`);
  expect(await estimate("a.parquet")).toBe(12_345);
});

test.each<[string, (text: string) => string | Uint8Array]>([
  ["large.csv", (text) => text],
  ["large.csv.gz", (text) => gzipSync(text, { level: 1 })],
  ["large.csv.zst", (text) => zstdCompressSync(Buffer.from(text))],
])("%s is estimated within a third", async (name, compress) => {
  const rows = await estimate(name, compress(csv(500_000)));
  expect(rows).toBeGreaterThan(500_000 / 1.33);
  expect(rows).toBeLessThan(500_000 * 1.33);
});

test("an impossible estimate is null and does not fail", async () => {
  expect(await estimate("a.json", "[]")).toBeNull();
  expect(await estimate("bad.parquet", "x")).toBeNull();
  expect(await estimate("bad.csv.gz", "no gzip")).toBeNull();
});
