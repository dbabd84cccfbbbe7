import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { duckdbSince } from "../../../../../trainer/read/connectors/duckdb/since.ts";

let instance: DuckDBInstance;
beforeAll(async () => {
  instance = await DuckDBInstance.create(":memory:");
});
afterAll(() => instance.closeSync());

const since = { epochSeconds: 1_000_000_000, number: 1_000_000_000n }; // 2001-09-09 01:46:40

/** How many of a column's values are before, and how many are not. */
async function parted(type: string, values: readonly string[]) {
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'America/New_York'");
  const list = values.map((value) => `(CAST('${value}' AS ${type}))`);
  await connection.run(`CREATE OR REPLACE TEMP TABLE one (v ${type})`);
  await connection.run(`INSERT INTO one VALUES ${list.join(", ")}, (NULL)`);
  const typed = await connection.runAndReadAll("SELECT v FROM one");
  const sql = duckdbSince("v", typed.columnType(0), since);
  if (sql === undefined) return undefined;
  const reader = await connection.runAndReadAll(
    `SELECT count(*) FILTER (${sql.isBefore}), count(*) FILTER (${sql.isSince}), sum(${sql.number})::VARCHAR FROM one`,
  );
  connection.closeSync();
  const [before, from, total] = reader.getRows()[0]!;
  return { before: Number(before), from: Number(from), total };
}

test.each([
  ["TIMESTAMP", ["2001-09-09 01:46:39.999999", "2001-09-09 01:46:40"], "1999999999999999"],
  ["TIMESTAMP_S", ["2001-09-09 01:46:39", "2001-09-09 01:46:40"], "1999999999000000"],
  ["TIMESTAMP_MS", ["2001-09-09 01:46:39.999", "2001-09-09 01:46:40"], "1999999999999000"],
  ["TIMESTAMP_NS", ["2001-09-09 01:46:39.999999999", "2001-09-09 01:46:40"], "1999999999999999"],
  ["TIMESTAMPTZ", ["2001-09-09 01:46:39.999999+00", "2001-09-09 03:46:40+02"], "1999999999999999"],
  ["DATE", ["2001-09-08", "2001-09-09"], "1999900800000000"],
  ["INTEGER", ["999999999", "1000000000"], "1999999999"],
  ["UBIGINT", ["999999999", "1000000000"], "1999999999"],
  ["HUGEINT", ["999999999", "1000000000"], "1999999999"],
])("%s: exactly at the bound is not before, and NULL is not", async (type, values, total) => {
  expect(await parted(type, values)).toEqual({ before: 1, from: 2, total });
});

test.each(["VARCHAR", "DOUBLE", "FLOAT", "DECIMAL(12,2)", "BOOLEAN"])("%s is not parted", async (type) => {
  expect(await parted(type, ["1"])).toBeUndefined();
});
