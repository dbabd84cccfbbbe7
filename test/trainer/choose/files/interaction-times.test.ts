import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fileSeconds } from "../../../../trainer/choose/files/interaction-times.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run("SET TimeZone = 'UTC'");
});
afterAll(() => connection.closeSync());

async function secondsOf(type: string, values: readonly string[]) {
  const rows = values.map((value, row) => `(${row + 1}, CAST('${value}' AS ${type}))`).join(", ");
  const from = `FROM (VALUES ${rows}) v("row", t)`;
  const described = await connection.runAndReadAll(`SELECT t ${from}`);
  const count = async (sql: string) => (await connection.runAndReadAll(`SELECT ${sql} ${from}`)).getRowObjects()[0]!;
  const sql = await fileSeconds("t", described.columnType(0), count);
  if (sql === undefined) return undefined;
  return (await connection.runAndReadAll(`SELECT ${sql} ${from}`)).getRows().flat();
}

test.each<[string, string[], (number | null)[] | undefined]>([
  ["BIGINT", ["1700000000100", "1700000000200", "5"], [1700000000.1, 1700000000.2, 0.005]],
  ["DOUBLE", ["1.5", "nan", "inf", "-1.5", "1e18", "-inf"], [1.5, null, null, -1.5, 1e18, null]],
  ["TIMESTAMP", ["1970-01-01 00:00:01.5", "infinity"], [1.5, null]],
  ["DATE", ["1970-01-02"], [86400]],
  ["VARCHAR", ["1970-01-01T00:00:01.5Z", "3", "1970-01-01 01:00:00+01", "noon"], [1.5, 3, 0, null]],
  ["VARCHAR", ["1/2/1970", "1/13/1970"], [86400, 12 * 86400]],
  ["VARCHAR", ["2/1/1970", "13/1/1970 00:01"], [86400, 12 * 86400 + 60]],
  ["VARCHAR", ["noon", ""], [null, null]],
  ["TIME", ["12:30"], undefined],
  ["BOOLEAN", ["true"], undefined],
])("%s %j → %j", async (type, values, expected) => expect(await secondsOf(type, values)).toEqual(expected));

test("of many dates a sample says how they are written", async () => {
  const dates = Array.from({ length: 6000 }, (_, row) => `${1 + (row % 28)}.1.1970 8:26`);
  expect((await secondsOf("VARCHAR", dates))!.slice(26, 29)).toEqual([26, 27, 0].map((day) => day * 86400 + 30360));
});
