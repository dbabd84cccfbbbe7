import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NULL_WORDS } from "../../../../shared/ids.ts";
import type { IdReading } from "../../../../trainer/read/rules/dialect.ts";
import { idExpression } from "../../../../trainer/read/rules/id-expression.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(() => connection.closeSync());

/** The id, or the reject reason, of an SQL value. */
async function read(sql: string, reading: Partial<IdReading> = {}) {
  const { columnType } = await connection
    .runAndReadAll(`SELECT ${sql} AS c`)
    .then((r) => ({ columnType: r.columnType(0) }));
  const id = idExpression("c", columnType, { which: "user", keepsNullWords: false, trims: false, ...reading });
  if (id === undefined) return "no id";
  const result = await connection.runAndReadAll(
    `SELECT ${id.reason} AS reason, ${id.text("key")} AS text, ${id.isIntegral ?? "true"} AS integral
     FROM (SELECT *, ${id.key} AS key FROM (SELECT ${sql} AS c))`,
  );
  const [reason, text, integral] = result.getRows()[0]!;
  return reason ?? [text, integral === true ? id.jsonType : "string"];
}

test.each<[string, unknown]>([
  ["7::TINYINT", ["7", "integer"]],
  ["7::BIGINT", ["7", "integer"]],
  ["-7::INTEGER", ["-7", "integer"]],
  ["9007199254740993::BIGINT", ["9007199254740993", "integer"]],
  ["170141183460469231731687303715884105727::HUGEINT", ["170141183460469231731687303715884105727", "integer"]],
  ["7.0::DOUBLE", ["7", "integer"]],
  ["-0.0::DOUBLE", ["0", "integer"]],
  ["0.0::DOUBLE", ["0", "integer"]],
  ["1e15::DOUBLE", ["1000000000000000", "integer"]],
  ["9007199254740991::DOUBLE", ["9007199254740991", "integer"]],
  ["9007199254740993::DOUBLE", "id_not_exact"],
  ["-12345678901234567890::DOUBLE", "id_not_exact"],
  ["16777215::FLOAT", ["16777215", "integer"]],
  ["16777217::FLOAT", "id_not_exact"],
  ["7.5::DOUBLE", ["7.5", "string"]],
  ["7::DECIMAL(18,0)", ["7", "integer"]],
  ["7.00::DECIMAL(18,2)", ["7", "integer"]],
  ["100.00::DECIMAL(18,2)", ["100", "integer"]],
  ["7.50::DECIMAL(18,2)", ["7.5", "string"]],
  ["'007'", ["007", "string"]],
  ["'7'", ["7", "string"]],
  ["' a '", [" a ", "string"]],
  ["'Jürgen 🎈'", ["Jürgen 🎈", "string"]],
  ["true", ["true", "string"]],
  ["'6F9619FF-8B86-D011-B42D-00C04FC964FF'::UUID", ["6f9619ff-8b86-d011-b42d-00c04fc964ff", "string"]],
  ["'abc'::BLOB", ["YWJj", "string"]],
  ["DATE '2024-01-02'", ["2024-01-02", "string"]],
  ["'x'::ENUM('x', 'y')", ["x", "string"]],
  ["'7'::BIGNUM", ["7", "integer"]],
  ["repeat('9', 257)::BIGNUM", "id_too_long"],
  ["''::ENUM('', 'y')", "missing_user"],
  ["''::BLOB", "missing_user"],
  ["NULL::BIGINT", "missing_user"],
  ["NULL::VARCHAR", "missing_user"],
  ["''", "missing_user"],
  ["repeat('x', 256)", [`${"x".repeat(256)}`, "string"]],
  ["repeat('x', 257)", "id_too_long"],
  ["repeat('ü', 129)", "id_too_long"],
  ["repeat('x', 1000000)", "id_too_long"],
  ["'a' || chr(0) || 'b'", "id_has_nul"],
  ["'nan'::DOUBLE", "missing_user:NaN"],
  ["'inf'::FLOAT", "id_not_finite"],
  ["[1, 2]", "no id"],
  ["{'a': 1}", "no id"],
  ["MAP {'a': 1}", "no id"],
  ["INTERVAL 1 DAY", "no id"],
])("%s → %j", async (sql, expected) => expect(await read(sql)).toEqual(expected));

test("words for nothing are no ids, exactly as they are listed, unless they are kept", async () => {
  for (const word of NULL_WORDS) {
    expect(await read(`'${word}'`)).toBe(`missing_user:${word}`);
    expect(await read(`'${word}'`, { keepsNullWords: true })).toEqual([word, "string"]);
  }
  for (const id of ["Null", " null", "nan", "n/a", "Nina"]) expect(await read(`'${id}'`)).toEqual([id, "string"]);
  expect(await read("'NA'::ENUM('NA', 'DE')")).toBe("missing_user:NA");
  expect(await read("'nan'::DOUBLE", { keepsNullWords: true })).toBe("id_not_finite");
});

test("blanks around ids are removed where that is wanted", async () => {
  expect(await read("' a b '", { trims: true })).toEqual(["a b", "string"]);
  expect(await read("chr(160) || 'a'", { trims: true })).toEqual(["a", "string"]);
  expect(await read("' x '::ENUM(' x ')", { trims: true })).toEqual(["x", "string"]);
  expect([await read("'  '", { trims: true }), await read("' NULL '", { trims: true })]).toEqual([
    "missing_user",
    "missing_user:NULL",
  ]);
  expect(await read("7", { trims: true })).toEqual(["7", "integer"]);
});
