import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type CopyMetadata,
  KEPT_FILE,
  type KeepOptions,
  keepRows,
  loadKept,
  openKept,
} from "../../../../trainer/read/dataset/kept-copy.ts";
import type { StagedTable } from "../../../../trainer/read/dataset/staging.ts";
import { openStagedRows, type StagedRows } from "../../../fixtures/rows-staged.ts";
import { smallDisk } from "../../../fixtures/small-disk.ts";

const METADATA: CopyMetadata = { source: "it's a digest", before: 1000, unit: 1_000_000, fullReadMs: 1.5 };
const TEN_ROWS = "SELECT CAST(range AS INTEGER) AS n, 'text ' || range AS t FROM range(10)";

let folder: string;
let directory: string;
let rows: StagedRows;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kept-copy-"));
  directory = join(folder, "kept");
  rows = await openStagedRows();
});
afterEach(async () => {
  await rows.close();
  await rm(folder, { recursive: true });
});

const keep = (table: StagedTable, options: Partial<KeepOptions> = {}) =>
  keepRows(rows.staging, table, { directory, metadata: METADATA, condition: "true", ...options });
const open = (at = directory) => openKept(rows.staging, at);
async function load(name: string, columns: StagedTable["columns"]) {
  const copy = await open();
  return await loadKept(rows.staging, copy!, { name, columns });
}
const contentOf = async (table: string) =>
  (await rows.staging.connection.runAndReadAll(`SELECT * FROM ${table} ORDER BY ALL`)).getRowsJson();

test("rows come back with their types and values", async () => {
  const table = await rows.stage(
    "odd",
    `SELECT * FROM (VALUES
       ('170141183460469231731687303715884105727'::HUGEINT, 340282366920938463463374607431768211455::UHUGEINT,
        18446744073709551615::UBIGINT, '2024-01-02 03:04:05.123456789'::TIMESTAMP_NS, '2024-01-02 03:04:05'::TIMESTAMP_S,
        'infinity'::TIMESTAMP, '2024-01-02 03:04:05+02'::TIMESTAMPTZ, 1.10::DECIMAL(10,2), 'b'::ENUM('a', 'b'),
        'nan'::DOUBLE, 0.1::FLOAT, encode('é'), '5d2d0a5e-6f0c-4d3e-8a57-0a4f7b1f5c11'::UUID, true, '2024-01-02'::DATE, ''),
       (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'later'))`,
  );
  await keep(table);
  expect(await open()).toEqual({ path: join(directory, KEPT_FILE), ...METADATA });
  expect(await load("back", table.columns)).toBe(2);
  expect(await contentOf("back")).toEqual(await contentOf("odd"));
  const described = await rows.staging.connection.runAndReadAll("DESCRIBE back");
  expect(described.getRows().map(([, type]) => type)).toEqual(table.columns.map(({ type }) => String(type)));
});

test("a new copy replaces the previous one and removes unfinished files", async () => {
  expect(await open()).toBeUndefined();
  const table = await rows.stage("few", TEN_ROWS);
  await keep(table);
  await writeFile(join(directory, "1.unfinished"), "of a run that crashed");
  await keep(table, { condition: "c0 < 5" });
  expect(await load("back", table.columns)).toBe(5);
  expect(await readdir(directory)).toEqual([KEPT_FILE]);
});

describe("a damaged file is recognised:", () => {
  const damages: [string, (path: string) => Promise<unknown>][] = [
    ["cut off", (path) => truncate(path, 100)],
    ["empty", (path) => truncate(path, 0)],
    ["another Parquet file", (path) => rows.staging.connection.run(`COPY (SELECT 1) TO '${path}' (FORMAT parquet)`)],
    ["a folder", (path) => rm(path).then(() => mkdir(path))],
  ];
  test.each(damages)("%s", async (_, damage) => {
    await keep(await rows.stage("few", TEN_ROWS));
    await damage(join(directory, KEPT_FILE));
    expect(await open()).toBeUndefined();
  });

  test("zeros among the rows", async () => {
    const table = await rows.stage("few", TEN_ROWS);
    await keep(table);
    const bytes = await readFile(join(directory, KEPT_FILE));
    await writeFile(join(directory, KEPT_FILE), bytes.fill(0, 4, 60));
    const damaged = { code: "kept_rows_damaged", retryable: true };
    await expect(load("back", table.columns)).rejects.toMatchObject(damaged);
    expect(await open()).toBeUndefined();
  });
});

test("a copy that cannot be written leaves the previous one", async () => {
  const table = await rows.stage("few", TEN_ROWS);
  await keep(table);
  await expect(keep(table, { condition: "c1::INTEGER = 1" })).rejects.toThrow("Could not convert");
  expect(await load("back", table.columns)).toBe(10);
  expect(await readdir(directory)).toEqual([KEPT_FILE]);
});

const full = smallDisk("1m");
test.skipIf(full === undefined)("on a full disk the previous copy stays", async () => {
  const small = join(full!, "kept");
  await keep(await rows.stage("few", TEN_ROWS), { directory: small });
  const many = await rows.stage("many", "SELECT hash(range) AS a, range AS b FROM range(500_000)");
  await expect(keep(many, { directory: small })).rejects.toMatchObject({ code: "work_disk_full" });
  expect(await readdir(small)).toEqual([KEPT_FILE]);
  expect(await open(small)).toMatchObject(METADATA);
});
