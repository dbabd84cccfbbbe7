import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { areWholeDecimals, fileId, withoutPoint } from "../../../../trainer/choose/files/interaction-ids.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(() => connection.closeSync());
const first = async (sql: string) => (await connection.runAndReadAll(sql)).getRows()[0]!;

test.each([
  ["1::BIGINT", "1", null],
  ["1.0::DOUBLE", "1", false],
  ["1.5::FLOAT", "1.5", false],
  ["1.00::DECIMAL(9, 2)", "1", false],
  ["'1.0'", "1.0", null],
  [`'"a"'::JSON`, "a", null],
  ["'a'::BLOB", "a", null],
  ["encode('é\\')", "é\\", null],
  ["'\\xFF'::BLOB", "\\xFF", null],
  ["true", "true", null],
  ["1e17::DOUBLE", "100000000000000000", true],
  ["NULL::DOUBLE", null, false],
])("%s is %j, inexact: %j", async (value, text, isInexact) => {
  const type = (await connection.runAndReadAll(`SELECT ${value} AS key`)).columnType(0);
  const id = fileId('"key"', type);
  const asked = id.isInexact === null ? "NULL" : id.isInexact;
  expect(await first(`SELECT ${id.text}, ${asked} FROM (SELECT ${value} AS key)`)).toEqual([text, isInexact]);
});

test.each([
  [["1.0", "-20.00", null, ""], true],
  [["1.0", "1"], false],
  [["1.0", "1.5"], false],
  [["1.0", "a"], false],
  [["01.0"], false],
  [[null], false],
])("whole numbers with a point, %j: %s", async (values, expected) => {
  const rows = values.map((value) => `(${value === null ? "NULL" : `'${value}'`})`).join(", ");
  expect(await first(`SELECT ${areWholeDecimals("c")} FROM (VALUES ${rows}) t(c)`)).toEqual([expected]);
});
test("without their point", async () => expect(await first(`SELECT ${withoutPoint("'-20.00'")}`)).toEqual(["-20"]));
