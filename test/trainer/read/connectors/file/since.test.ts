import { mkdtemp, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../../../../trainer/read/connectors/connect.ts";
import { fileSettings } from "../../../../fixtures/real-data.ts";
import { sinceSuite } from "../../../../suites/since-suite.ts";

let folder: string;
let instance: DuckDBInstance;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "file-since-"));
  instance = await DuckDBInstance.create(":memory:");
});
afterAll(async () => {
  instance.closeSync();
  await rm(folder, { recursive: true });
});
const TYPES = {
  timestamp: "TIMESTAMP",
  "zoned timestamp": "TIMESTAMPTZ",
  date: "DATE",
  integer: "BIGINT",
  text: "VARCHAR",
};
const open = (location: string) =>
  connect(
    { type: "File", location },
    { customer: "test", settings: { ...fileSettings([folder], join(folder, "temp")), memoryMb: 64 } },
  );
async function writeParquet(sql: string) {
  const connection = await instance.connect();
  await connection.run(`COPY (${sql}) TO '${join(folder, "things.parquet")}' (FORMAT parquet)`);
  connection.closeSync();
}

sinceSuite({
  async holding(kind, rows) {
    const values = rows.map(([n, t]) => `(${n}, ${typeof t === "string" ? `'${t}'` : t})`);
    await writeParquet(`SELECT n, CAST(t AS ${TYPES[kind]}) AS t FROM (VALUES ${values.join(", ")}) v(n, t)`);
    return await open("things.parquet");
  },
});

const since = { column: "t", epochSeconds: 5, number: 5n };
const { signal } = new AbortController();

test("a file that is written to or touched meanwhile is another state", async () => {
  await writeParquet("SELECT range AS n, range AS t FROM range(10)");
  const connector = await open("things.parquet");
  const path = join(folder, "things.parquet");
  const partedBefore = async (change: () => Promise<void>) => {
    const parted = await connector.readSince!("FROM things", { since, signal });
    if ("unsuitable" in parted) throw new Error(parted.unsuitable);
    await parted.before();
    await change();
    return await parted.hasChanged!();
  };
  expect(await partedBefore(async () => undefined)).toBe(false);
  expect(await partedBefore(() => writeParquet("SELECT range AS n, range AS t FROM range(11)"))).toBe(true);
  expect(await partedBefore(() => utimes(path, 1, 1))).toBe(true);
  expect(await partedBefore(() => rm(path))).toBe(true);
  await connector.close();
});

test.each<[string, (path: string) => Promise<void>]>([
  ["cut", (path) => truncate(path, 1000)],
  ["written over", async (path) => await writeFile(path, Buffer.alloc((await stat(path)).size))],
  ["taken away", (path) => rm(path)],
])("a file that is %s meanwhile is no fault of its content, whenever it happens", async (_, change) => {
  for (const moment of ["at once", "after the tally", "between rows"]) {
    await writeParquet("SELECT range AS n, range AS t FROM range(300_000)");
    const connector = await open("things.parquet");
    const read = async () => {
      const parted = await connector.readSince!("FROM things", { since, signal });
      if ("unsuitable" in parted) throw new Error(parted.unsuitable);
      if (moment === "at once") await change(join(folder, "things.parquet"));
      await parted.before();
      if (moment === "after the tally") await change(join(folder, "things.parquet"));
      let chunks = 0;
      for await (const _ of (await parted.rows()).chunks)
        if (chunks++ === 0 && moment === "between rows") await change(join(folder, "things.parquet"));
      return await parted.hasChanged!(); // what was read before may be whole
    };
    const told = await read().catch(({ code, retryable }) => ({ code, retryable }));
    if (told !== true) expect([moment, told]).toEqual([moment, { code: "file_changed", retryable: true }]);
    if (moment !== "between rows") expect(told).not.toBe(true);
    await connector.close();
  }
});

test("of a file that is left alone, a fault of the query stays one", async () => {
  await writeParquet("SELECT range AS n, range AS t FROM range(10)");
  const connector = await open("things.parquet");
  const parted = await connector.readSince!("SELECT t, CAST('n' || n AS INTEGER) AS n FROM things", { since, signal });
  if ("unsuitable" in parted) throw new Error(parted.unsuitable);
  const read = async () => {
    for await (const _ of (await parted.rows()).chunks);
  };
  await expect(read()).rejects.toMatchObject({ code: "source_query_failed", retryable: false });
  await connector.close();
});

test("infinity is before nothing or after everything, and adds nothing to the tally", async () => {
  await writeParquet("SELECT 1 AS n, unnest(['-infinity', 'infinity', '1970-01-01 00:00:01']::TIMESTAMP[]) AS t");
  const connector = await open("things.parquet");
  const parted = await connector.readSince!("FROM things", { since, signal });
  if ("unsuitable" in parted) throw new Error(parted.unsuitable);
  expect(await parted.before()).toEqual({ rows: 2, times: 1_000_000n });
  await connector.close();
});

test("text files are not parted", async () => {
  await writeFile(join(folder, "lines.csv"), "n,t\n1,2\n3,4\n");
  const connector = await open("lines.csv");
  expect(await connector.readSince!("FROM lines", { since, signal })).toEqual({
    unsuitable: '"lines.csv" is text, which is parsed whole in any case; Parquet is not',
  });
  await connector.close();
});

test("a statement that is no SELECT is refused as it is in a full read", async () => {
  await writeParquet("SELECT 1 AS n, 2 AS t");
  const connector = await open("things.parquet");
  await expect(connector.readSince!("DROP TABLE things", { since, signal })).rejects.toMatchObject({
    stage: "fetching",
  });
  await connector.close();
});
