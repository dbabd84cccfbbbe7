import { expect, test } from "vitest";
import { readersOf } from "../../../../../trainer/read/connectors/postgres/columns.ts";

const INT4 = 23;
const DATE = 1082;
const TIMESTAMP = 1114;
const NUMERIC = 1700;
const NUMERICS = 1231;
const ENUM = 16_400;
const ENUMS = 16_401;

test("custom types are looked up once, and only if there are any", async () => {
  const asked: (readonly number[])[] = [];
  const arraysAmong = async (oids: readonly number[]) => {
    asked.push(oids);
    return [ENUMS];
  };
  const typesOf = async (oids: number[]) => (await readersOf(oids, arraysAmong)).map(({ type }) => String(type));
  expect(await typesOf([INT4, NUMERIC, NUMERICS])).toEqual(["INTEGER", "VARCHAR", "VARCHAR[]"]);
  expect(asked).toEqual([]);
  expect(await typesOf([ENUM, INT4, ENUMS])).toEqual(["VARCHAR", "INTEGER", "VARCHAR[]"]);
  expect(asked).toEqual([[ENUM, ENUMS]]);
});

test.each([
  [TIMESTAMP, "275760-09-12 23:59:59.999999", 8_639_999_999_999_999_999n],
  [TIMESTAMP, "294276-12-31 23:59:59.999999", null],
  [TIMESTAMP, "0044-03-15 12:00:00 BC", null],
  [TIMESTAMP, "-infinity", null],
  [DATE, "275760-09-13", 100_000_000],
  [DATE, "294277-01-01", null],
  [DATE, "5874897-12-31", null],
])("a time (%i) beyond the range of Date is null: %s", async (oid, text, expected) => {
  const [reader] = await readersOf([oid], async () => []);
  const value = reader!.read(text) as { micros?: bigint; days?: number } | null;
  expect(value?.micros ?? value?.days ?? null).toBe(expected);
});
