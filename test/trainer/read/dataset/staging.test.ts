import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  appendRows,
  openStaging,
  readRow,
  readStaged,
  runStaged,
  type Staging,
  stageRows,
  streamStaged,
} from "../../../../trainer/read/dataset/staging.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";

let folder: string;
let staging: Staging;
let controller: AbortController;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "staging-test-"));
  controller = new AbortController();
  staging = await openStaging({ workDirectory: folder, memoryMb: 128, signal: controller.signal });
});
afterEach(async () => {
  await staging.close();
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true });
});

const never = new AbortController().signal;

async function stage(sql: string) {
  const connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], folder) });
  try {
    const source = await connector.read(sql, { signal: never });
    return await stageRows(staging, { name: "rows", source });
  } finally {
    await connector.close();
  }
}

test("values of every type stay unchanged, and rowid is the position", async () => {
  const sql = `SELECT 1::TINYINT a, 2::UBIGINT b, 3::HUGEINT c, 1.5::DECIMAL(9,2) d, 2.5::FLOAT e, 'x' f, 'ab'::BLOB g,
    true h, DATE '2024-01-02' i, TIMESTAMP '2024-01-02 03:04:05' j, TIMESTAMPTZ '2024-01-02 03:04:05+02' k,
    TIMESTAMP_NS '2024-01-02 03:04:05.123456789' l, TIMESTAMP_S '2024-01-02 03:04:05' m, [1, NULL] n, ['a', 'b'] o,
    {'x': 1, 'it''s': 'q'} p, MAP {'k': 1} q, 'b'::ENUM('a', 'b') r, uuid() s, TIME '10:00:00' t, INTERVAL 1 DAY u, NULL v,
    '{"a": 1}'::JSON w, '101'::BIT x, TIMESTAMP_MS '2024-01-02 03:04:05' y FROM range(2)`;
  const table = await stage(sql);
  expect(table.rows).toBe(2);
  const rows = await readStaged(
    staging,
    `SELECT rowid, count(*) OVER () AS n, c5 = 'x' AND c13 = [1, NULL] AND c17 = 'b' AS same FROM rows`,
  );
  expect(rows.map((row) => [Number(row.rowid), Number(row.n), row.same])).toEqual([
    [0, 2, true],
    [1, 2, true],
  ]);
  expect(table.columns.map(({ name }) => name).join("")).toBe("abcdefghijklmnopqrstuvwxy");
});

test("a type that cannot be stored is refused with the column's name", () =>
  expect(stage("SELECT 1 AS a, {'x': 1}::VARIANT AS v")).rejects.toMatchObject({
    code: "unsupported_column_type",
    message: expect.stringContaining('"v"'),
  }));

test("appended rows follow the existing ones, and only they are counted", async () => {
  await stage("SELECT 1 AS n");
  const connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], folder) });
  const source = await connector.read("SELECT 2 AS n", { signal: never });
  const reports: number[] = [];
  const appended = await appendRows(staging, { name: "rows", source }, (n) => reports.push(n));
  await connector.close();
  expect([appended.rows, appended.columns.length, reports]).toEqual([1, 1, [1]]);
  expect(await readStaged(staging, "SELECT rowid::INTEGER AS r, c0 FROM rows")).toEqual([
    { r: 0, c0: 1 },
    { r: 1, c0: 2 },
  ]);
});

test("50,000 rows that exceed the memory are staged", async () => {
  const table = await stage("SELECT range AS n, repeat('x', 3000) || range AS text FROM range(50_000)"); // 150 MB
  expect(table.rows).toBe(50_000);
  const [row] = await readStaged(
    staging,
    "SELECT count(*) AS n, max(c0) AS most, sum(length(c1)) AS characters FROM rows",
  );
  expect([row!.n, row!.most, row!.characters].map(Number)).toEqual([50_000, 49_999, 150_238_890]);
});

test("a table that exceeds the memory is sorted on disk", async () => {
  await stage("SELECT hash(range) AS h FROM range(1_000_000)");
  let [last, count, falling] = [-1n, 0, 0];
  for await (const chunk of streamStaged(staging, "SELECT c0, repeat('x', 200) FROM rows ORDER BY c0"))
    for (const value of chunk.getColumnValues(0) as bigint[]) {
      if (value < last) falling++;
      last = value;
      count++;
    }
  expect([count, falling]).toEqual([1_000_000, 0]);
}, 60_000);

test("an abort interrupts a running statement with the signal's reason", async () => {
  const reason = new Error("stop");
  setTimeout(() => controller.abort(reason), 100);
  await expect(
    runStaged(staging, "SELECT max(a.range * b.range) FROM range(10_000_000) a, range(10_000) b"),
  ).rejects.toBe(reason);
});

test("an abort ends the reading of an endless source", async () => {
  const reason = new Error("stop");
  const connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], folder) });
  const source = await connector.read("FROM range(1_000_000_000_000)", { signal: never });
  const progress = () => controller.abort(reason);
  await expect(stageRows(staging, { name: "rows", source }, progress)).rejects.toBe(reason);
  await connector.close();
});

test("too little memory becomes a StageError", () =>
  expect(
    readStaged(staging, "SELECT len(list(repeat('x', 1000) || range)) FROM range(1_000_000)"),
  ).rejects.toMatchObject({
    code: "work_memory_full",
    stage: "checking",
  }));

test("an error of the source ends the staging", () =>
  expect(
    stageRows(staging, {
      name: "broken",
      source: {
        columns: [],
        // biome-ignore lint/correctness/useYield: a source that fails at once.
        chunks: (async function* () {
          throw new Error("the store went away");
        })(),
        expectedRows: null,
      },
    }),
  ).rejects.toThrow());

test("a database with little memory has one thread, since each needs memory of its own", async () => {
  expect(await readRow(staging, "SELECT CAST(current_setting('threads') AS INTEGER) AS threads")).toEqual({
    threads: 1,
  });
});
