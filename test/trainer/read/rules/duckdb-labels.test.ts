import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Label } from "../../../../shared/label.ts";
import { positiveWord } from "../../../../trainer/read/rules/dialect.ts";
import { DUCKDB } from "../../../../trainer/read/rules/duckdb-dialect.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(() => connection.closeSync());

async function read(sql: string, label: Label): Promise<unknown> {
  const type = (await connection.runAndReadAll(`SELECT ${sql} AS c`)).columnType(0);
  const expression = DUCKDB.label("c", type, label);
  if (expression === undefined) return "no label";
  const result = await connection.runAndReadAll(
    `SELECT ${expression.isMissing} AS missing, ${expression.positive} AS positive, ${expression.rating ?? "NULL"} AS rating
     FROM (SELECT ${sql} AS c)`,
  );
  const [missing, positive, rating] = result.getRows()[0]!;
  if (missing) return "missing";
  return positive === null ? "unparsable" : label.type === "Binary" ? positive : [positive, rating];
}

const binary: Label = { type: "Binary", name: "c" };
test.each<[string, unknown]>([
  ["true", 1],
  ["false", 0],
  ["1::INTEGER", 1],
  ["0::BIGINT", 0],
  ["1.0::DOUBLE", 1],
  ["0.0::DECIMAL(3,1)", 0],
  ["'true'", 1],
  ["' Yes '", 1],
  ["'T'", 1],
  ["'1'", 1],
  ["'1.00'", 1],
  ["'0.00'", 0],
  ["'10.0'", "unparsable"],
  ["'no'", 0],
  ["'FALSE'", 0],
  ["'0'", 0],
  ["5::INTEGER", "unparsable"],
  ["-1::INTEGER", "unparsable"],
  ["0.5::DOUBLE", "unparsable"],
  ["'nan'::DOUBLE", "unparsable"],
  ["'maybe'", "unparsable"],
  ["''", "missing"],
  ["NULL::INTEGER", "missing"],
  ["NULL::VARCHAR", "missing"],
  ["DATE '2024-01-01'", "no label"],
  ["'2024-01-01'::TIMESTAMP_NS", "no label"],
  ["'2024-01-01'::TIMESTAMP_S", "no label"],
  ["TIMETZ '10:00:00+00'", "no label"],
  ["'1'::BIT", "no label"],
  ["1::BIGNUM", 1],
  ["[1]", "no label"],
])("Binary: %s → %j", async (sql, expected) => expect(await read(sql, binary)).toBe(expected));

const rating: Label = { type: "Rating", name: "c", positive_from: 4.1 };
test.each<[string, unknown]>([
  ["5::INTEGER", [1, 5]],
  ["4::INTEGER", [0, 4]],
  ["4.1::DOUBLE", [1, 4.1]],
  ["4.1::DECIMAL(3,1)", [1, 4.1]],
  ["4.1::FLOAT", [1, 4.1]], // although as a DOUBLE it is a little less
  ["4.09::FLOAT", [0, 4.09]],
  ["'4.5'", [1, 4.5]],
  ["-3", [0, -3]],
  ["'4.5'::ENUM('4.5')", [1, 4.5]],
  ["'five'", "unparsable"],
  ["'4_5'", "unparsable"],
  ["'inf'::DOUBLE", "unparsable"],
  ["NULL::DOUBLE", "missing"],
  ["''", "missing"],
])("Rating from 4.1: %s → %j", async (sql, expected) => expect(await read(sql, rating)).toEqual(expected));

const weight: Label = { type: "Weight", name: "c" };
test.each<[string, unknown]>([
  ["2.5::DOUBLE", [1, 2.5]],
  ["1e-9::DOUBLE", [1, 1e-9]],
  ["0", [0, 0]],
  ["'12'", [1, 12]],
  ["true", [1, 1]],
  ["-0.5", "unparsable"],
  ["'many'", "unparsable"],
  ["'inf'::DOUBLE", "unparsable"],
  ["''", "missing"],
])("Weight: %s → %j", async (sql, expected) => expect(await read(sql, weight)).toEqual(expected));

const events: Label = { type: "Events", name: "c", positive: ["purchase", "it's", "4"] };
test.each<[string, unknown]>([
  ["'purchase'", [1, 3]],
  ["' it''s '", [1, 2]],
  ["4", [1, 1]],
  ["'Purchase'", [0, 0]],
  ["'view'", [0, 0]],
  ["''", "missing"],
  ["NULL::VARCHAR", "missing"],
  ["4.0::DOUBLE", "no label"],
  ["true", "no label"],
])("Events: %s → %j", async (sql, expected) => expect(await read(sql, events)).toEqual(expected));

test("weights of types of events are what they count", async () => {
  const weighted: Label = { ...events, weights: { purchase: 5 } };
  expect(await read("'purchase'", weighted)).toEqual([1, 5]);
  expect(await read("'it''s'", weighted)).toEqual([1, 1]);
});

test("words for yes and no in any case", async () => {
  const rows = await connection.runAndReadAll(
    `SELECT ${positiveWord("lower(w)")} FROM (VALUES ('YES'), ('n'), ('oui')) t(w)`,
  );
  expect(rows.getRows()).toEqual([[1], [0], [null]]);
});
