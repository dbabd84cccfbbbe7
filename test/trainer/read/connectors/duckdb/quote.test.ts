import { DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { expect, test } from "vitest";
import { identifier, literal } from "../../../../../trainer/read/connectors/duckdb/quote.ts";

test("any text comes back as itself, as a literal and as a name", async () => {
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

test("a NUL would end the statement, so it is refused", () => {
  expect(() => literal("a\0b")).toThrow("NUL");
  expect(() => identifier("a\0b")).toThrow("NUL");
});
