import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findFiles } from "../../../../../trainer/read/connectors/duckdb/files.ts";
import { fileTable } from "../../../../../trainer/read/connectors/duckdb/table.ts";

let root: string;
let connection: DuckDBConnection;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "duckdb-table-"));
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(async () => {
  connection.closeSync();
  await rm(root, { recursive: true, force: true });
});

async function columnsOf(name: string, content: string, typedByRows?: number): Promise<Record<string, string>> {
  await writeFile(join(root, name), content);
  const [file] = await findFiles(name, [root]);
  const result = await connection.runAndReadAll(
    `SELECT * FROM ${(await fileTable(connection, file!, typedByRows)).from()} LIMIT 0`,
  );
  return Object.fromEntries(result.columnNames().map((column, i) => [column, String(result.columnType(i))]));
}

test("types are found from all values of a small file", async () => {
  const types = await columnsOf(
    "types.csv",
    "i,d,t,z,day,b,s,code\n1,1.5,2024-01-01 10:00:00,2024-01-01T10:00:00Z,2024-01-01,true,x,007\n",
  );
  expect(types).toEqual({
    i: "BIGINT",
    d: "DOUBLE",
    t: "TIMESTAMP",
    z: "TIMESTAMP WITH TIME ZONE",
    day: "DATE",
    b: "BOOLEAN",
    s: "VARCHAR",
    code: "VARCHAR",
  });
});

test("only times that begin with the year are typed; all other forms stay text", async () => {
  const types = await columnsOf(
    "forms.csv",
    "iso,slashes,eu,us,short,dots,eu_clock,minutes\n" +
      "2024-01-03,2024/01/03,31/12/2024,12/31/2024,10-05-05,31.12.2024,31/12/2024 10:00:00,2024-01-03T10:00:00Z\n" +
      "2024-02-03,2024/02/03,03/01/2024,01/03/2024,11-05-05,03.01.2024,03/01/2024 10:00:00,2024-01-03T10:01:00Z\n",
  );
  expect(types).toEqual({
    iso: "DATE",
    slashes: "DATE",
    eu: "VARCHAR",
    us: "VARCHAR",
    short: "VARCHAR",
    dots: "VARCHAR",
    eu_clock: "VARCHAR",
    minutes: "TIMESTAMP WITH TIME ZONE",
  });
  expect(await columnsOf("ambiguous.csv", "at,n\n03/01/2024,1\n04/01/2024,2\n")).toEqual({
    at: "VARCHAR",
    n: "BIGINT",
  });
  expect(await columnsOf("two-digits.csv", "at,n\n10-05-05,1\n11-05-05,2\n")).toEqual({ at: "VARCHAR", n: "BIGINT" });
});

test("whole numbers beyond 64 bits are read as text; other numbers stay numbers", async () => {
  const types = await columnsOf(
    "long.csv",
    "visitor,price,wei,few\n12345678901234567890,1.5,12345678901234567890,3.0\n12345678901234567891,2,1.5,4\n7,,2,\n",
  );
  expect(types).toEqual({ visitor: "VARCHAR", price: "DOUBLE", wei: "DOUBLE", few: "DOUBLE" });
  const [file] = await findFiles("long.csv", [root]);
  const rows = await connection.runAndReadAll(`SELECT visitor FROM ${(await fileTable(connection, file!)).from()}`);
  expect(rows.getRows().flat()).toEqual(["12345678901234567890", "12345678901234567891", "7"]);
});

test("lines of different length do not hide the delimiter of the header", async () => {
  expect(Object.keys(await columnsOf("ragged.csv", "user_id,item_id\nu1,1\nu2\nu3,3,4\n"))).toEqual([
    "user_id",
    "item_id",
  ]);
});

test("column names with quotes, blanks and commas are kept", async () => {
  expect(Object.keys(await columnsOf("odd.csv", `a b,"q""x",c'd,"e,f"\n1,2,3,4\n`))).toEqual([
    "a b",
    'q"x',
    "c'd",
    "e,f",
  ]);
});

test("a file without a delimiter is a table of one column", async () => {
  expect(Object.keys(await columnsOf("one.csv", "user_id\nu1\n"))).toEqual(["user_id"]);
});

test.each([
  ["zip.csv", "PK\u0003\u0004abc\n\u0000\u0001\n"],
  ["nul.csv", "a\0b,c\n1,2\n"],
])("%s is refused as no text", async (name, content) => {
  await expect(columnsOf(name, content)).rejects.toMatchObject({ code: "file_malformed" });
});

test("a table of more than 1,000 columns is refused", () =>
  expect(columnsOf("wide.csv", `${Array.from({ length: 1001 }, (_, i) => `c${i}`).join(",")}\n`)).rejects.toThrow(
    "1001 columns",
  ));

test("a value after 200,000 rows of a CSV counts for the type of its column", async () => {
  const pad = "p".repeat(100);
  const content = `rating,item,pad\n${`4,1,${pad}\n`.repeat(320_000)}4.5,x1,${pad}\n`;
  expect(await columnsOf("late.csv", content)).toEqual({ rating: "DOUBLE", item: "VARCHAR", pad: "VARCHAR" });
  // Unless there is no time for that.
  const quick = await columnsOf("late.csv", content, 200_000);
  expect(quick).toEqual({ rating: "BIGINT", item: "BIGINT", pad: "VARCHAR" });
});
