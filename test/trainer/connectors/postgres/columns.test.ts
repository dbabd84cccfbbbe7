import { expect, test } from "vitest";
import { readersOf } from "../../../../trainer/connectors/postgres/columns.ts";

const INT4 = 23;
const NUMERIC = 1700;
const NUMERICS = 1231;
const ENUM = 16_400;
const ENUMS = 16_401;

test("what a database defines itself is asked for once, and only then", async () => {
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
