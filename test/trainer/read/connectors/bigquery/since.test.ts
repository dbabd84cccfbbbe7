import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bigquerySince, parseTally } from "../../../../../trainer/read/connectors/bigquery/since.ts";
import type { Connector } from "../../../../../trainer/read/connectors/connector.ts";
import { type BigQueryWorld, bigqueryWorld } from "../../../../fixtures/bigquery-world.ts";
import { startFakeStorage } from "../../../../fixtures/fake-bigquery-storage.ts";
import { sinceSuite } from "../../../../suites/since-suite.ts";

let world: BigQueryWorld;
beforeAll(async () => {
  world = await bigqueryWorld();
  await world.fake.engine.execute("CREATE OR REPLACE MACRO UNIX_MICROS(moment) AS epoch_us(moment)");
  await world.fake.engine.execute("CREATE OR REPLACE MACRO UNIX_DATE(day) AS epoch_us(day) // 86400000000");
});
afterAll(() => world.stop());

const TYPES = {
  timestamp: "TIMESTAMP", // BigQuery's DATETIME
  "zoned timestamp": "TIMESTAMPTZ",
  date: "DATE",
  integer: "BIGINT",
  text: "VARCHAR",
};
const since = { column: "t", epochSeconds: 5, number: 5n };
const { signal } = new AbortController();

describe("a job's rows", () => {
  sinceSuite({
    async holding(kind, rows) {
      const { engine } = world.fake;
      await engine.execute(`CREATE OR REPLACE TABLE shop.things (n INTEGER, t ${TYPES[kind]})`);
      const values = rows.map(([n, t]) => `(${n}, ${typeof t === "string" ? `'${t}'` : t})`);
      await engine.execute(`INSERT INTO shop.things VALUES ${values.join(", ")}`);
      return qualified(await world.open());
    },
  });
});

/** The suite names its table `things`; in BigQuery a table has its project and dataset before it. */
function qualified(connector: Connector): Connector {
  const whole = (query: string) => query.replace(/\bFROM things\b/g, "FROM `acme-data.shop.things`");
  return {
    ...connector,
    read: (query, options) => connector.read(whole(query), options),
    readSince: (query, options) => connector.readSince!(whole(query), options),
  };
}

test("the tally and the rows come from one job", async () => {
  await world.fake.engine.execute("CREATE OR REPLACE TABLE shop.things AS SELECT range AS n, range AS t FROM range(9)");
  const connector = await world.open();
  const jobs = () => [...world.fake.jobs.values()].length;
  const parted = await connector.readSince!("SELECT * FROM `acme-data.shop.things`", { since, columns: ["n"], signal });
  if ("unsuitable" in parted) throw new Error(parted.unsuitable);
  const before = jobs();
  expect(await parted.before()).toEqual({ rows: 5, times: 10n });
  await world.fake.engine.execute("INSERT INTO shop.things VALUES (100, 100), (0, 0)");
  const source = await parted.rows();
  const rows: unknown[] = [];
  for await (const chunk of source.chunks) rows.push(...chunk.getColumnValues(0));
  expect(rows).toEqual([5n, 6n, 7n, 8n]);
  expect(source.origin).toMatch(/^BigQuery job acme-data:EU\.shortlist-/);
  expect(jobs() - before).toBe(1);
  await connector.close();
});

test("many rows come through the Storage Read API, without the column of the tally", async () => {
  const storage = await startFakeStorage(world.fake);
  await world.fake.engine.execute(
    "CREATE OR REPLACE TABLE shop.things AS SELECT range AS n, range AS t FROM range(25_000)",
  );
  const connector = await world.open({ bigqueryStorageEndpoint: storage.endpoint });
  const parted = await connector.readSince!("SELECT * FROM `acme-data.shop.things`", { since, columns: ["n"], signal });
  if ("unsuitable" in parted) throw new Error(parted.unsuitable);
  expect(await parted.before()).toEqual({ rows: 5, times: 10n });
  const seen = new Set<unknown>();
  for await (const chunk of (await parted.rows()).chunks) {
    expect(chunk.columnCount).toBe(1);
    for (const value of chunk.getColumnValues(0)) seen.add(value);
  }
  expect(storage.offsets.length).toBeGreaterThan(0);
  expect([seen.size, seen.has(4n), seen.has(5n)]).toEqual([24_995, false, true]);
  await connector.close();
  await storage.stop();
});

test("without a row from the bound on, the tally is not known", async () => {
  await world.fake.engine.execute("CREATE OR REPLACE TABLE shop.things AS SELECT 1 AS n, 2::BIGINT AS t");
  const connector = await world.open();
  const parted = await connector.readSince!("SELECT * FROM `acme-data.shop.things`", { since, signal });
  if ("unsuitable" in parted) throw new Error(parted.unsuitable);
  expect(await parted.before()).toBeNull();
  await connector.close();
});

test("types whose order is not certainly that of time are not parted", () => {
  for (const type of ["STRING", "FLOAT", "NUMERIC", "TIME", "JSON"])
    expect(bigquerySince({ name: "t", type }, since)).toBeUndefined();
  expect(bigquerySince({ name: "t", type: "INTEGER", mode: "REPEATED" }, since)).toBeUndefined();
});

test("a tally that is none is told as our mistake", () => {
  expect(parseTally("12:-7")).toEqual({ rows: 12, times: -7n });
  expect(() => parseTally("12")).toThrow('BigQuery gave "12" for shortlist_before; expected rows:times');
});
