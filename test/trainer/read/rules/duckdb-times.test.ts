import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TimeUnit } from "../../../../trainer/read/rules/dialect.ts";
import { DUCKDB } from "../../../../trainer/read/rules/duckdb-dialect.ts";
import { timeUnitOf } from "../../../../trainer/read/rules/row-rules.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run("SET TimeZone = 'UTC'");
});
afterAll(() => connection.closeSync());

async function secondsOf(sql: string, unit: TimeUnit = 1): Promise<unknown> {
  const type = (await connection.runAndReadAll(`SELECT ${sql} AS c`)).columnType(0);
  const time = DUCKDB.time("c", type);
  if (time === undefined) return "no time";
  const rows = await connection.runAndReadAll(
    `SELECT CASE WHEN ${time.isMissing} THEN 'missing' ELSE coalesce((${time.seconds(unit)})::VARCHAR, 'unparsable') END
     FROM (SELECT ${sql} AS c)`,
  );
  const value = String(rows.value(0, 0));
  return /^-?\d+$/.test(value) ? Number(value) : value;
}

const T = 1_704_164_645; // 2024-01-02T03:04:05Z
test.each<[string, TimeUnit, unknown]>([
  ["TIMESTAMP '2024-01-02 03:04:05.999'", 1, T],
  ["TIMESTAMP_S '2024-01-02 03:04:05'", 1, T],
  ["TIMESTAMP_MS '2024-01-02 03:04:05.5'", 1, T],
  ["TIMESTAMP_NS '2024-01-02 03:04:05.5'", 1, T],
  ["TIMESTAMPTZ '2024-01-02 05:04:05+02'", 1, T],
  ["DATE '2024-01-02'", 1, 1_704_153_600],
  ["TIMESTAMP 'infinity'", 1, "unparsable"],
  ["DATE 'infinity'", 1, "unparsable"],
  [`${T}::BIGINT`, 1, T],
  [`${T}123::BIGINT`, 1000, T],
  [`${T}123456::BIGINT`, 1_000_000, T],
  [`${T}123456789::BIGINT`, 1_000_000_000, T],
  [`${T}::INTEGER`, 1, T],
  [`${T}.75::DOUBLE`, 1, T],
  [`${T}.750::DECIMAL(18,3)`, 1, T],
  [`${T}750::HUGEINT`, 1000, T],
  ["'nan'::DOUBLE", 1, "unparsable"],
  ["1e300::DOUBLE", 1, "unparsable"],
  ["NULL::BIGINT", 1, "missing"],
  [`'${T}'`, 1, T],
  [`'${T}000'`, 1000, T],
  ["'2024-01-02T03:04:05Z'", 1, T],
  ["'2024-01-02T03:04:05.123Z'", 1, T],
  ["'2024-01-02T03:04:05+00:00'", 1, T],
  ["'2024-01-02T05:04:05+02:00'", 1000, T],
  ["'2024-01-02 03:04:05'", 1, T],
  ["'2024-01-02 03:04:05 UTC'", 1, T],
  ["'2024-01-01 23:04:05 -0400'", 1, T],
  ["'2024-01-01 23:04:05.5 -04:00'", 1, T],
  ["'2024-01-02 05:04:05 +02'", 1, T],
  ["'20240102T050405 +0200'", 1, T],
  ["'2024-01-01 22:04:05 EST'", 1, T],
  ["'2024-01-02 04:04:05 Europe/Berlin'", 1, T],
  ["'2024-01-02 03:04:05 PM'", 1, "unparsable"],
  ["'2024-01-02 03:04:05 XX'", 1, "unparsable"],
  ["'2024-01-02'", 1, 1_704_153_600],
  ["' 2024-01-02 '", 1, 1_704_153_600],
  ["'yesterday'", 1, "unparsable"],
  ["'2024_01'", 1, "unparsable"],
  ["'01/31/2024'", 1, "unparsable"],
  ["'2024-13-45'", 1, "unparsable"],
  ["''", 1, "missing"],
  ["'  '", 1, "missing"],
  ["NULL::VARCHAR", 1, "missing"],
  ["true", 1, "no time"],
  ["TIME '10:00:00'", 1, "no time"],
  ["[1]", 1, "no time"],
])("%s in units of 1/%d s → %j", async (sql, unit, expected) => expect(await secondsOf(sql, unit)).toBe(expected));

test("the unit is the one that most numbers are in, whatever the outliers", async () => {
  const unitOf = async (values: string) => {
    const typed = await connection.runAndReadAll(`SELECT v FROM (VALUES ${values}) t(v)`);
    const time = DUCKDB.time("v", typed.columnType(0))!;
    return await timeUnitOf(DUCKDB, time, async (counts) => {
      const reader = await connection.runAndReadAll(`SELECT ${counts} FROM (VALUES ${values}) t(v)`);
      return reader.getRowObjectsJS()[0]!;
    });
  };
  expect(await unitOf("(1704164645), (0), (99999999999999)")).toBe(1);
  expect(await unitOf("(1704164645000), (1704164645000), (0)")).toBe(1_000);
  expect(await unitOf("(1704164645000000)")).toBe(1_000_000);
  expect(await unitOf("(1704164645000000000)")).toBe(1_000_000_000);
  expect(await unitOf("(NULL::BIGINT)")).toBe(1);
  expect(await unitOf("(-9223372036854775808), (1704164645), (1704164645)")).toBe(1); // pandas' NaT
  expect(await unitOf("('nan'::DOUBLE), ('nan'), ('-inf'), (1704164645000)")).toBe(1_000);
  expect(await unitOf("('1704164645000000')")).toBe(1_000_000);
  expect(await unitOf("(DATE '2024-01-02')")).toBe(1);
});

test("seconds from 2001 to 2106 are the same in every unit", () =>
  fc.assert(
    fc.asyncProperty(fc.integer({ min: 1_000_000_000, max: 4_294_967_295 }), fc.nat(2), async (seconds, power) => {
      const unit = (1000 ** power) as TimeUnit;
      expect(await secondsOf(`${BigInt(seconds) * BigInt(unit)}::BIGINT`, unit)).toBe(seconds);
    }),
    { numRuns: 60 },
  ));
