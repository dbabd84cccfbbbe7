import { expect, test } from "vitest";
import { columnOf, quoted } from "../../../../../trainer/read/connectors/bigquery/columns.ts";

test.each([
  [{ name: "id", type: "INT64" }, "`id`", "9007199254740993", "9007199254740993"],
  [{ name: "price", type: "BIGNUMERIC" }, "CAST(`price` AS STRING)", "1.10", "1.10"],
  [{ name: "at", type: "TIMESTAMP" }, "`at`", "1709200800500000", "2024-02-29 10:00:00.5"],
  [{ name: "local", type: "DATETIME" }, "CAST(`local` AS TIMESTAMP)", "0", "1970-01-01 00:00:00"],
  [{ name: "day", type: "DATE" }, "`day`", "1969-12-31", "1969-12-31"],
  [{ name: "raw", type: "BYTES" }, "TO_BASE64(`raw`)", "YWJj", "YWJj"],
  [{ name: "good", type: "BOOL" }, "`good`", "false", "false"],
  [{ name: "where", type: "GEOGRAPHY" }, "ST_ASTEXT(`where`)", "POINT(1 2)", "POINT(1 2)"],
  [
    { name: "spot", type: "RECORD", fields: [{ name: "Lat" }, { name: "lng" }] },
    "TO_JSON_STRING(`spot`)",
    '{"Lat":1,"lng":2}',
    '{"Lat":1,"lng":2}',
  ],
])("%j is selected as %s", (field, sql, value, read) => {
  const column = columnOf(field);
  expect(column.sql).toBe(sql);
  expect(String(column.read(value))).toBe(read);
  expect(column.read(null)).toBeNull();
});

test("all lists become lists of texts", () => {
  const texts = columnOf({ name: "tags", type: "STRING", mode: "REPEATED" });
  expect(texts.sql).toBe("`tags`");
  expect(String(texts.read([{ v: "a" }, { v: null }, { v: "b" }]))).toBe("['a', 'b']");
  expect(columnOf({ name: "n", type: "INTEGER", mode: "REPEATED" }).sql).toContain("CAST(element AS STRING)");
});

test.each([
  { name: "pair", type: "RECORD" },
  { name: "half", type: "RECORD", fields: [{ name: "lat" }] },
  { name: "spots", type: "RECORD", mode: "REPEATED", fields: [{ name: "lat" }, { name: "lon" }] },
  { name: "pairs", type: "STRUCT", mode: "REPEATED" },
  { name: "blobs", type: "BYTES", mode: "REPEATED" },
  { name: "span", type: "RANGE" },
])("%j is refused with its name", (field) => {
  expect(() => columnOf(field)).toThrow(`"${field.name}" is`);
});

test("backticks and backslashes in a name are escaped", () => {
  expect(quoted("a`b\\c")).toBe("`a\\`b\\\\c`");
});
