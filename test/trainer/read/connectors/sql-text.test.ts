import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { identifier, innerQuery, literal } from "../../../../trainer/read/connectors/sql-text.ts";

test("any text comes back unchanged, as a literal and as a name", async () => {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const text = fc.string({ minLength: 1, unit: "grapheme" }).filter((value) => !value.includes("\0"));
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      const result = await connection.runAndReadAll(`SELECT ${literal(value)} AS ${identifier(value)}`);
      expect(result.getRows()).toEqual([[value]]);
      expect(result.columnNames()).toEqual([value]);
    }),
    { numRuns: 100 },
  );
  connection.closeSync();
});

test("a NUL is refused, because it would end the statement", () => {
  expect(() => literal("a\0b")).toThrow("NUL");
  expect(() => identifier("a\0b")).toThrow("NUL");
});

test.each([
  ["SELECT * FROM t; \n;\t", "SELECT * FROM t"],
  ["SELECT '; -- '", "SELECT '; -- '"],
  ["SELECT 1 -- all", "SELECT 1 -- all"],
  ["SELECT 1; SELECT 2;", "SELECT 1; SELECT 2"],
  [" ; \n", ""],
])("innerQuery(%j) is %j", (query, inner) => expect(innerQuery(query)).toBe(inner));

test("innerQuery takes linear time", () => {
  const start = performance.now();
  innerQuery(`${" ".repeat(65_000)}x`);
  expect(performance.now() - start).toBeLessThan(1000);
});
