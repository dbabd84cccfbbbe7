import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  dropKept,
  type KeepOptions,
  keepRows,
  loadKept,
  openKept,
} from "../../../../trainer/read/dataset/kept-copy.ts";
import { openStaging, type StagedTable, type Staging } from "../../../../trainer/read/dataset/staging.ts";
import { KEPT_BINDING, KEPT_PART, keptRowsSql } from "../../../fixtures/kept-rows.ts";
import { smallDisk } from "../../../fixtures/small-disk.ts";

const { signal } = new AbortController();
let folder: string;
let directory: string;
let staging: Staging;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kept-copy-"));
  directory = join(folder, "kept");
  staging = await openStaging({ workDirectory: folder, memoryMb: 64 });
});
afterEach(async () => {
  await staging.close();
  await rm(folder, { recursive: true });
});

async function tableOf(sql: string, name: string): Promise<StagedTable> {
  await staging.connection.run(sql);
  const reader = await staging.connection.runAndReadAll(`SELECT * FROM ${name}`);
  const columns = reader.columnNames().map((column, i) => ({ sql: column, name: column, type: reader.columnType(i) }));
  return { name, rows: reader.currentRowCount, columns };
}
const keep = async (table: StagedTable, options: Partial<KeepOptions> = {}) =>
  await keepRows(staging, table, {
    directory,
    binding: KEPT_BINDING,
    part: KEPT_PART,
    isBefore: "true",
    fullReadMs: 1,
    signal,
    ...options,
  });
const open = (binding = KEPT_BINDING) => openKept(directory, { binding, signal });
const rowsIn = async (table: string) =>
  (await staging.connection.runAndReadAll(`SELECT * FROM ${table} ORDER BY ALL`)).getRowsJson();

test("rows come back as they were, whatever their types, and no others", async () => {
  const table = await tableOf(
    `CREATE TABLE odd AS SELECT * FROM (VALUES
       ('170141183460469231731687303715884105727'::HUGEINT, 18446744073709551615::UBIGINT, 
        '2024-01-02 03:04:05.123456789'::TIMESTAMP_NS,
        '2024-01-02 03:04:05'::TIMESTAMP_S, 'infinity'::TIMESTAMP, '2024-01-02 03:04:05+02'::TIMESTAMPTZ, 1.10::DECIMAL(10,2),
        'b'::ENUM('a', 'b'), 'nan'::DOUBLE, 0.1::FLOAT, encode('é'), '5d2d0a5e-6f0c-4d3e-8a57-0a4f7b1f5c11'::UUID, true,
        '2024-01-02'::DATE, ''),
       (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'later')
     ) v(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14)`,
    "odd",
  );
  await keep(table);
  const copy = await open();
  if (copy.kind !== "kept") throw new Error(copy.kind);
  expect(copy).toMatchObject({ ...KEPT_PART, rows: 2, fullReadMs: 1 });
  await loadKept(staging, copy, { name: "back", columns: table.columns, signal });
  expect(await rowsIn("back")).toEqual(await rowsIn("odd"));
  const types = (await tableOf("SELECT 1", "back")).columns.map(({ type }) => String(type));
  expect(types).toEqual(table.columns.map(({ type }) => String(type)));

  await keep(table, { isBefore: "c14 = 'later'" });
  expect(await open()).toMatchObject({ kind: "kept", rows: 1 });
  expect((await readdir(directory)).length).toBe(2);
});

test("there is none before the first, none for another query, and none after it was dropped", async () => {
  expect(await open()).toEqual({ kind: "absent" });
  await keep(await tableOf(keptRowsSql("few", 10), "few"));
  expect(await open("of another")).toEqual({ kind: "other" });
  await dropKept(directory);
  expect(await open()).toEqual({ kind: "absent" });
  await dropKept(directory);
});

describe("what is torn or changed is noticed:", () => {
  const damaged = async (damage: (rowsPath: string, listPath: string) => Promise<void>) => {
    await keep(await tableOf(keptRowsSql("few", 1000), "few"));
    const rows = (await readdir(directory)).find((name) => name.endsWith(".parquet"))!;
    await damage(join(directory, rows), join(directory, "kept.json"));
    return await open();
  };
  test("any byte of the rows", async () => {
    await keep(await tableOf(keptRowsSql("few", 1000), "few"));
    const rows = join(directory, (await readdir(directory)).find((name) => name.endsWith(".parquet"))!);
    const bytes = await readFile(rows);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const other = Buffer.from(bytes);
        other[at]! ^= flip;
        await writeFile(rows, other);
        expect(await open()).toEqual({ kind: "damaged" });
        await writeFile(rows, bytes.subarray(0, at));
        expect(await open()).toEqual({ kind: "damaged" });
      }),
      { numRuns: 30 },
    );
    await writeFile(rows, bytes);
    expect((await open()).kind).toBe("kept");
  });
  test.each<[string, (rowsPath: string, listPath: string) => Promise<void>]>([
    ["the rows are gone", (rows) => rm(rows)],
    ["the list is cut off", (_, list) => truncate(list, 40)],
    ["the list is empty", (_, list) => truncate(list, 0)],
    ["the list is endless", (_, list) => writeFile(list, " ".repeat(2_000_000))],
    ["the list has a field that nobody knows", (_, list) => edited(list, (kept) => ({ ...kept, more: 1 }))],
    ["the list is of a later format", (_, list) => edited(list, (kept) => ({ ...kept, format: 2 }))],
    ["the list is a folder", (_, list) => rm(list).then(async () => void (await mkdir(list)))],
  ])("%s", async (_, damage) => expect(await damaged(damage)).toEqual({ kind: "damaged" }));
});

async function edited(path: string, edit: (kept: object) => object): Promise<void> {
  await writeFile(path, JSON.stringify(edit(JSON.parse(await readFile(path, "utf8")))));
}

describe("killed right after", () => {
  test.each([
    ["copied", "old"],
    ["synced", "old"],
    ["named", "old"],
    ["listed", "new"],
    ["swept", "new"],
  ])("%s: the copy is the %s one, whole; the next one sweeps", async (step, which) => {
    await keep(await tableOf(keptRowsSql("few", 10), "few"));
    const program = join(import.meta.dirname, "../../../fixtures/kept-killed-writer.ts");
    const work = await mkdtemp(join(folder, "work-"));
    const { signal: ended } = spawnSync(process.execPath, [program, directory, work, step], { stdio: "inherit" });
    expect(ended).toBe("SIGKILL");
    const copy = await open();
    if (copy.kind !== "kept") throw new Error(copy.kind);
    expect(copy).toMatchObject(which === "old" ? { rows: 10, fullReadMs: 1 } : { rows: 60, fullReadMs: 2 });
    const { columns } = await tableOf(keptRowsSql("other", 20), "other");
    await loadKept(staging, copy, { name: "back", columns, signal });
    expect((await rowsIn("back")).length).toBe(copy.rows);
    await keep({ name: "other", rows: 20, columns });
    expect((await readdir(directory)).length).toBe(2);
  });
});

test("a copy that cannot be written leaves the one before, and nothing else", async () => {
  const table = await tableOf(keptRowsSql("few", 10), "few");
  await keep(table);
  const before = await readdir(directory);
  await expect(keep(table, { isBefore: "c1::INTEGER = 1" })).rejects.toThrow("Could not convert");
  const steps: string[] = [];
  const stop = new AbortController();
  const reason = new Error("stop now");
  const onStep = (step: string) => {
    steps.push(step);
    stop.abort(reason);
  };
  await expect(keep(table, { signal: stop.signal, onStep, isBefore: "c0 < 5" })).rejects.toBe(reason);
  expect(steps).toEqual(["copied"]);
  expect(await readdir(directory)).toEqual(before);
  expect(await open()).toMatchObject({ kind: "kept", rows: 10 });
});

const full = smallDisk("1m");
test.skipIf(full === undefined)(
  "on a full disk the copy before stays, and the staged rows are as they were",
  async () => {
    const small = join(full!, "kept");
    const few = await tableOf(keptRowsSql("few", 10), "few");
    await keep(few, { directory: small });
    const many = await tableOf(
      "CREATE TABLE many AS SELECT hash(range) AS c0, range AS c1 FROM range(500_000)",
      "many",
    );
    await expect(keep(many, { directory: small })).rejects.toMatchObject({ code: "work_disk_full" });
    expect((await readdir(small)).length).toBe(2);
    expect(await openKept(small, { binding: KEPT_BINDING, signal })).toMatchObject({ kind: "kept", rows: 10 });
    expect((await rowsIn("many")).length).toBe(500_000);
    await keep(many);
  },
);
