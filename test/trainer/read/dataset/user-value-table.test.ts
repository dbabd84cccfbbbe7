import fc from "fast-check";
import { expect, test } from "vitest";
import { RECORD_VALUES_MAX } from "../../../../shared/user-records.ts";
import { USER_VALUES_MAX } from "../../../../shared/user-values.ts";
import type { AttributeColumn } from "../../../../trainer/read/dataset/dataset.ts";
import {
  codesOfCells,
  codesOfUsers,
  namesOfCodes,
  userValueTable,
  VALUE_USERS_MIN,
} from "../../../../trainer/read/dataset/user-value-table.ts";

const USERS = 200;

/** A column in which user u has the texts `textsOf(u)`. */
function texts(name: string, textsOf: (user: number) => readonly string[], type: "Category" | "CategoryList" | "Text") {
  const all = Array.from({ length: USERS }, (_, user) => textsOf(user));
  const dictionary = [...new Set(all.flat())].sort();
  const start = new Uint32Array(USERS + 1);
  for (const [user, own] of all.entries()) start[user + 1] = start[user]! + own.length;
  return { name, type, dictionary, start, codes: Uint32Array.from(all.flat(), (text) => dictionary.indexOf(text)) };
}
const numbers = (name: string, numberOf: (user: number) => number): AttributeColumn => ({
  name,
  type: "Numerical",
  values: Float64Array.from({ length: USERS }, (_, user) => numberOf(user)),
});

const city = texts(
  "city",
  (user) => (user < 150 ? ["Bonn"] : user < 181 ? ["Ulm"] : user === 199 ? [] : ["Rare"]),
  "Category",
);
const tags = texts("tags", (user) => (user % 2 ? ["odd", "all"] : ["all"]), "CategoryList");
const isMember: AttributeColumn = {
  name: "member",
  type: "Boolean",
  values: Uint8Array.from({ length: USERS }, (_, user) => (user < 30 ? 1 : user < 60 ? 0 : 255)),
};

test("numbers that name categories have codes of their own and no name; others have ranges", () => {
  const table = userValueTable([
    numbers("country_id", (user) => user % 10),
    numbers("age", (user) => user % 10),
    numbers("zip_code", (user) => user),
  ]);
  const [countries, ages, zips] = table.columns;
  expect([countries!.bounds, countries!.codes.size]).toEqual([null, 10]);
  expect([ages!.bounds?.length, zips!.bounds?.length]).toEqual([7, 7]);
  const order = Array.from({ length: table.valueCount }, (_, code) => code);
  expect(namesOfCodes(table, order).names.filter((name) => name !== null)).toEqual([]);
  expect(codesOfCells(table, [3, null, null])).toEqual([countries!.codes.get("3")]);
});

test("values of at least 20 users have codes, the most frequent first", () => {
  const table = userValueTable([city, tags, isMember, texts("bio", () => ["same"], "Text")]);
  expect(table.columns.map(({ name, codes }) => [name, Object.fromEntries(codes)])).toEqual([
    ["city", { Bonn: 1, Ulm: 3 }],
    ["tags", { all: 0, odd: 2 }],
    ["member", { 0: 4, 1: 5 }],
  ]);
  expect(table.valueCount).toBe(6);
});

test("each user has the ascending codes of the columns", () => {
  const columns = [city, tags, isMember];
  const { start, codes } = codesOfUsers(userValueTable(columns), columns, USERS);
  const of = (user: number) => [...codes.subarray(start[user], start[user + 1])];
  expect([0, 31, 60, 160, 190, 199].map(of)).toEqual([[0, 1, 5], [0, 1, 2, 4], [0, 1], [0, 3], [0], [0, 2]]);
  expect(start.at(-1)).toBe(codes.length);
});

test("numbers are divided at octiles; equal numbers stay together, and missing ones have no value", () => {
  const table = userValueTable([numbers("age", (user) => user)]);
  expect(table.columns[0]!.bounds).toEqual([25, 50, 75, 100, 125, 150, 175]);
  expect(table.valueCount).toBe(8);
  const codeOf = (age: number) => codesOfCells(table, [age])[0];
  expect([codeOf(-5), codeOf(24.9), codeOf(25), codeOf(1e9), codeOf(Number.NaN)]).toEqual([
    codeOf(0),
    codeOf(24),
    codeOf(49),
    codeOf(199),
    undefined,
  ]);
  const few = userValueTable([numbers("children", (user) => (user < 100 ? 0 : user < 170 ? 1 : Number.NaN))]);
  expect([few.columns[0]!.bounds, few.valueCount]).toEqual([[0, 1], 2]);
});

test("columns without frequent values give an empty table", () => {
  expect(userValueTable([])).toEqual({ columns: [], valueCount: 0 });
  expect(userValueTable([texts("id", (user) => [`u${user}`], "Category")])).toEqual({ columns: [], valueCount: 0 });
  expect(codesOfUsers(userValueTable([]), [], 3)).toEqual({ start: new Uint32Array(4), codes: new Uint8Array(0) });
});

test("a new user's cells are coded like those of the columns", () => {
  const table = userValueTable([city, tags, isMember]);
  expect(codesOfCells(table, ["Bonn", ["odd", "new", "odd"], 1])).toEqual([1, 2, 5]);
  expect(codesOfCells(table, ["Atlantis", [], null])).toEqual([]);
});

test("codes are ascending bytes, at most as many as a record holds", () =>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 60 }), (different, each) => {
      const list = texts(
        "many",
        (user) => Array.from({ length: each }, (_, i) => `t${(user + i) % different}`),
        "CategoryList",
      );
      const table = userValueTable([list, city]);
      expect(table.valueCount).toBeLessThanOrEqual(USER_VALUES_MAX);
      const { start, codes } = codesOfUsers(table, [list, city], USERS);
      const users = new Uint32Array(table.valueCount);
      let [longest, doRise] = [0, true];
      for (let user = 0; user < USERS; user++) {
        const own = codes.subarray(start[user], start[user + 1]);
        longest = Math.max(longest, own.length);
        doRise &&= own.every((code, i) => i === 0 || code > own[i - 1]!);
        for (const code of own) users[code]!++;
      }
      expect(longest).toBeLessThanOrEqual(RECORD_VALUES_MAX);
      expect(doRise).toBe(true);
      expect(Math.max(...users, VALUE_USERS_MIN)).toBeLessThanOrEqual(USERS);
    }),
    { numRuns: 30 },
  ));
