import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../../../../trainer/read/connectors/connect.ts";
import { postgresSince, typeName } from "../../../../../trainer/read/connectors/postgres/since.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../../../../fixtures/postgres-server.ts";
import { fileSettings } from "../../../../fixtures/real-data.ts";
import { sinceSuite } from "../../../../suites/since-suite.ts";

const bin = findPostgres();
if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");
const since = { column: "t", epochSeconds: 5, number: 5n };
const { signal } = new AbortController();

test("types whose order is not that of time are not parted", () => {
  const { TEXT, NUMERIC, FLOAT4, FLOAT8 } = pg.types.builtins;
  for (const oid of [TEXT, NUMERIC, FLOAT4, FLOAT8, 99_999]) expect(postgresSince('"t"', oid, since)).toBeUndefined();
  expect([typeName(TEXT), typeName(99_999)]).toEqual(["text", "number 99999"]);
});

describe.skipIf(!bin)("on a real server", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(bin!);
    console.log(`These tests ran on ${server.version}.`);
  });
  afterAll(() => server.stop());

  const open = () => {
    const location = `postgres://owner@127.0.0.1:${server.port}/postgres`;
    const settings = { ...fileSettings([], ""), timeoutSeconds: 20, allowPrivateAddresses: true };
    return connect(
      { type: "Postgres", location, password: { env: "OWNER" }, sslmode: "disable" },
      { customer: "acme", settings: { ...settings, secret: () => server.password } },
    );
  };
  const parting = async (connector: Awaited<ReturnType<typeof open>>) => {
    const parted = await connector.readSince!("SELECT * FROM things", { since, columns: ["n"], signal });
    if ("unsuitable" in parted) throw new Error(parted.unsuitable);
    return parted;
  };

  const TYPES = {
    timestamp: "timestamp",
    "zoned timestamp": "timestamptz",
    date: "date",
    integer: "bigint",
    text: "text",
  };
  sinceSuite({
    async holding(kind, rows) {
      await server.execute(`DROP TABLE IF EXISTS things; CREATE TABLE things (n integer, t ${TYPES[kind]})`);
      const values = rows.map(([n, t]) => `(${n}, ${typeof t === "string" ? `'${t}'` : t})`);
      await server.execute(`INSERT INTO things VALUES ${values.join(", ")}`);
      return await open();
    },
  });

  test("the tally and the rows are of one state, whatever is written between", async () => {
    await server.execute(
      "DROP TABLE IF EXISTS things; CREATE TABLE things AS SELECT n, n AS t FROM generate_series(1, 9) n",
    );
    const connector = await open();
    const parted = await parting(connector);
    expect(await parted.before()).toEqual({ rows: 4, times: 10n });
    await server.execute("DELETE FROM things WHERE n > 6; INSERT INTO things VALUES (100, 100), (0, 0)");
    const rows: unknown[] = [];
    for await (const chunk of (await parted.rows()).chunks) rows.push(...chunk.getColumnValues(0));
    expect(rows).toEqual([5, 6, 7, 8, 9]);
    await connector.close();
  });

  test("a connection lost between the tally and the rows does not mix two states: it is told", async () => {
    await server.execute(
      "DROP TABLE IF EXISTS things; CREATE TABLE things AS SELECT n, n AS t FROM generate_series(1, 9) n",
    );
    const connector = await open();
    const parted = await parting(connector);
    await parted.before();
    await server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shortlist'");
    await expect(connector.inspect("SELECT 1", { sampleRows: 0, signal })).rejects.toThrow();
    await expect(parted.rows()).rejects.toMatchObject({ code: "connection_lost", retryable: true });
    await connector.close();
  });

  test("small integers, infinity and years before 1", async () => {
    const connector = await open();
    const tally = async (type: string, values: string) => {
      const query = `SELECT 1 AS n, t::${type} FROM unnest(ARRAY[${values}]) t`;
      const parted = await connector.readSince!(query, { since, signal });
      return "unsuitable" in parted ? parted : await parted.before();
    };
    expect(await tally("smallint", "4, 5")).toEqual({ rows: 1, times: 4n });
    expect(await tally("timestamp", "'-infinity', 'infinity', '1970-01-01 00:00:01'")).toEqual({
      rows: 1,
      times: 1_000_000n,
    });
    expect(await tally("date", "'-infinity', '0044-03-15 BC', '0001-01-01'")).toMatchObject({ rows: 1 });
    expect(await tally("timestamptz", "'0001-12-31 23:59:59+00 BC', '0001-01-01 00:00:00+00'")).toMatchObject({
      rows: 1,
    });
    await connector.close();
  });
});
