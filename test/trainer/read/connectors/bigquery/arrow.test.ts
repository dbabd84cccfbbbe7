import { type DataType, DateDay, Field, Int64, List, TimestampMicrosecond, Utf8, vectorFromArray } from "apache-arrow";
import { expect, test } from "vitest";
import { arrowReader } from "../../../../../trainer/read/connectors/bigquery/arrow.ts";

const read = (values: readonly unknown[], type: DataType) => {
  const vector = vectorFromArray(values, type);
  const reader = arrowReader(vector);
  return values.map((_, row) => {
    const value = reader(row);
    return value === null ? null : String(value);
  });
};

test("integers keep all digits, times all microseconds, and nulls stay null", () => {
  expect(read([9007199254740993n, null], new Int64())).toEqual(["9007199254740993", null]);
  expect(read([-500, null, 1709200800500], new TimestampMicrosecond("UTC"))).toEqual([
    "1969-12-31 23:59:59.5",
    null,
    "2024-02-29 10:00:00.5",
  ]);
  expect(read([-86_400_000, null], new DateDay())).toEqual(["1969-12-31", null]);
  expect(read(["a", null], new Utf8())).toEqual(["a", null]);
});

test("a byte order mark at the beginning of a text is kept", () =>
  expect(read(["\ufeffé", null, "", "🎈", "e"], new Utf8())).toEqual(["\ufeffé", null, "", "🎈", "e"]));

test("nulls inside a list are dropped, and a null list is null", () => {
  expect(read([["a", null, "b"], null, [], ["\ufeffé", "c"]], new List(new Field("item", new Utf8(), true)))).toEqual([
    "['a', 'b']",
    null,
    "[]",
    "['\ufeffé', 'c']",
  ]);
});
