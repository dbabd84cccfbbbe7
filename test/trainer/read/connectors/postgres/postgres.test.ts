import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../../../../trainer/read/connectors/connect.ts";
import type { ConnectorContext } from "../../../../../trainer/read/connectors/connector.ts";
import {
  findPostgres,
  type PostgresServer,
  postgresConfig,
  postgresContext,
  startPostgres,
  startReplica,
} from "../../../../fixtures/postgres-server.ts";
import { startTcpRelay } from "../../../../fixtures/tcp-relay.ts";
import { connectorSuite, type StoredTable } from "../../../../suites/connector-suite.ts";

const bin = findPostgres();
if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");
const never = new AbortController().signal;

describe.skipIf(!bin)("on a real server", () => {
  let server: PostgresServer;
  let databases = 0;
  beforeAll(async () => {
    server = await startPostgres(bin!);
    await server.execute("CREATE ROLE reader LOGIN PASSWORD 'read only'");
    console.log(`These tests ran on ${server.version}.`);
  });
  afterAll(() => server.stop());

  const configOf = (database: string, more?: Record<string, unknown>) => postgresConfig(server, database, more);
  const open = (more?: Record<string, unknown>, settings?: Partial<ConnectorContext["settings"]>) =>
    connect(configOf("postgres", more), postgresContext(server, settings));

  connectorSuite({
    async holding({ columns, rows }: StoredTable) {
      const database = `suite_${databases++}`;
      await server.execute(`CREATE DATABASE ${database}`);
      const kinds = {
        integer: "bigint",
        double: "float8",
        text: "text",
        boolean: "boolean",
        timestamp: "timestamptz",
        "text[]": "text[]",
      };
      const declared = Object.entries(columns).map(([name, kind]) => `"${name}" ${kinds[kind]}`);
      const literal = (value: unknown) =>
        value === null ? "NULL" : typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
      const values = rows.map((row) => `(${row.map(literal).join(",")})`).join(",");
      const { default: pg } = await import("pg");
      const client = new pg.Client({
        host: "127.0.0.1",
        port: server.port,
        user: "owner",
        password: server.password,
        database,
      });
      await client.connect();
      await client.query(`CREATE TABLE things (${declared.join(", ")})`);
      if (rows.length) await client.query(`INSERT INTO things VALUES ${values}`);
      await client.end();
      return await connect(configOf(database), postgresContext(server));
    },
  });

  async function rowsOf(connector: Awaited<ReturnType<typeof open>>, query: string) {
    const rows: unknown[][] = [];
    for await (const chunk of (await connector.read(query, { signal: never })).chunks) rows.push(...chunk.getRows());
    return rows;
  }
  const failureOf = async (step: Promise<unknown>) => {
    const error = await step.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const { code, message, retryable } = error as { code: string; message: string; retryable: boolean };
    return { code, message, retryable };
  };

  test("types of ids, times, labels and attributes", async () => {
    const connector = await open();
    const [row] = await rowsOf(
      connector,
      `SELECT 9007199254740993::bigint, 1.10::numeric(10,2), '{a,"b c",NULL}'::text[], '{1,2}'::int[],
         '2024-02-29 12:00:00.5+02'::timestamptz, '0001-01-01'::date, 'infinity'::timestamp,
         '5d2d0a5e-6f0c-4d3e-8a57-0a4f7b1f5c11'::uuid, '{"a":1}'::jsonb, 'é'::bytea, 3::smallint`,
    );
    const texts = row!.map((value) => (value === null ? null : String(value)));
    expect(texts).toEqual([
      "9007199254740993",
      "1.1",
      "['a', 'b c', NULL]",
      "['1', '2']",
      "2024-02-29 10:00:00.5",
      "0001-01-01",
      null,
      "5d2d0a5e-6f0c-4d3e-8a57-0a4f7b1f5c11",
      '{"a": 1}',
      "\\xc3a9",
      "3",
    ]);
    await connector.close();
  });

  test("elements of arrays have the same texts as from BigQuery", async () => {
    await server.execute(
      "CREATE TYPE colour AS ENUM ('red', 'light blue'); CREATE DOMAIN colours AS colour[]; CREATE TYPE size AS (n int)",
    );
    const connector = await open();
    const [row] = await rowsOf(
      connector,
      `SELECT '{t,f}'::bool[], '{36,37.5}'::float4[], '{36,37.5,NaN}'::float8[], '{1.50,100,10.0,0.00}'::numeric[],
         '{2024-02-29}'::date[], '{2024-02-29 12:00}'::timestamp[], '{2024-02-29 12:00+02}'::timestamptz[],
         '{red,light blue,NULL}'::colour[], '{red}'::colours, 'red'::colour, ROW(1)::size`,
    );
    expect(row!.map(String)).toEqual([
      "['true', 'false']",
      "['36', '37.5']",
      "['36', '37.5', 'NaN']",
      "['1.5', '100', '10', '0']",
      "['2024-02-29']",
      "['2024-02-29 12:00:00']",
      "['2024-02-29 10:00:00+00']",
      "['red', 'light blue', NULL]",
      "['red']",
      "red",
      "(1)",
    ]);
    await connector.close();
  });

  test("doubles are exact, also where the database is set to round them", async () => {
    await server.execute("CREATE DATABASE rounding");
    await server.execute("ALTER DATABASE rounding SET extra_float_digits = 0");
    const connector = await connect(configOf("rounding"), postgresContext(server));
    const query = "SELECT 9007199254740991::float8, 9007199254740990::float8, 4.1::float4";
    expect(await rowsOf(connector, query)).toEqual([[9007199254740991, 9007199254740990, 4.1]]);
    await connector.close();
  });

  test("two reads of one connector see one state of the database", async () => {
    await server.execute("CREATE TABLE one_state AS SELECT 1 AS n");
    const connector = await open();
    expect(await rowsOf(connector, "SELECT n FROM one_state")).toEqual([[1]]);
    await server.execute("INSERT INTO one_state VALUES (2)");
    expect(await rowsOf(connector, "SELECT n FROM one_state")).toEqual([[1]]);
    await connector.close();
  });

  test.each([
    ["SELECT 1; COMMIT; DROP TABLE IF EXISTS kept", "source_query_failed"],
    ["SELECT 1) AS a; COMMIT; DROP TABLE kept; SELECT (1", "not_a_select"],
    ["WITH gone AS (DELETE FROM kept RETURNING 1) SELECT * FROM gone", "not_a_select"],
    ["SELECT nextval('counter')", "not_a_select"],
    ["SELECT DISTINCT n FROM kept FOR UPDATE", "not_a_select"],
    ["SELECT n FROM kept FOR SHARE", "not_a_select"],
    ["SELECT * FROM other.public.kept", "source_query_failed"],
    ["SELECT count(DISTINCT n) OVER () FROM kept", "source_query_failed"],
    ["SELECT * FROM kept WHERE wrong = 1", "source_query_failed"],
    ["SELECT * FROM nowhere", "table_not_found"],
  ])("%s is refused as %s", async (query, code) => {
    await server.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT 1 AS n; CREATE SEQUENCE IF NOT EXISTS counter");
    const connector = await open();
    expect((await failureOf(rowsOf(connector, query))).code).toBe(code);
    expect(await rowsOf(connector, "SELECT n FROM kept")).toEqual([[1]]);
    await connector.close();
  });

  test("an error in the query is shown with line and column", async () => {
    const connector = await open();
    const { message } = await failureOf(rowsOf(connector, "SELECT 1 AS one,\n  wrong FROM (SELECT 2) AS x"));
    expect(message).toContain("(line 2, column 3)");
    await connector.close();
  });

  test("the errors of a refused password, a missing grant, an unknown database and absent TLS say what to do", async () => {
    expect(await failureOf(open({ password: { env: "WRONG" } }))).toMatchObject({
      code: "authentication_failed",
      retryable: false,
    });
    expect((await failureOf(open({ password: { env: "NOT_OURS" } }))).message).toContain('no secret "NOT_OURS"');
    expect((await failureOf(connect(configOf("nothing"), postgresContext(server)))).code).toBe("unknown_database");
    expect((await failureOf(open({ sslmode: "require" }))).code).toBe("tls_not_supported");
    await server.execute("CREATE TABLE IF NOT EXISTS locked_away (n int)");
    const reader = await open({
      location: `postgres://reader@127.0.0.1:${server.port}/postgres`,
      password: { env: "READER" },
    });
    const { code, message } = await failureOf(rowsOf(reader, "SELECT * FROM locked_away"));
    expect([code, message]).toEqual(["permission_denied", expect.stringContaining("GRANT SELECT")]);
    await reader.close();
  });

  test("secrets in the location, private addresses and metadata are refused", async () => {
    const inUrl = open({ location: `postgres://owner:hunter2@127.0.0.1:${server.port}/postgres` });
    const { message } = await failureOf(inUrl);
    expect(message).toContain("must not hold a password");
    expect(message).not.toContain("hunter2");
    expect((await failureOf(open({}, { allowPrivateAddresses: false }))).code).toBe("address_not_allowed");
    const metadata = open({ location: "postgres://owner@169.254.169.254/postgres" });
    expect((await failureOf(metadata)).code).toBe("address_not_allowed");
  });

  test("a query that never ends is stopped at the deadline, also on the server", async () => {
    const connector = await open({}, { timeoutSeconds: 1 });
    const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT count(*) FROM n";
    expect((await failureOf(rowsOf(connector, endless))).code).toBe("source_timeout");
    await connector.close();
    await expect
      .poll(() =>
        countOf(
          `SELECT count(*)::int AS n FROM pg_stat_activity
           WHERE query LIKE '%RECURSIVE n(i)%' AND state = 'active' AND pid <> pg_backend_pid()`,
        ),
      )
      .toBe(0);
  });

  test("a reading that is aborted while it connects reads nothing", async () => {
    const connector = await open();
    const given = new AbortController();
    const reading = connector.read("SELECT pg_sleep(10)", { signal: given.signal });
    given.abort(new Error("no longer wanted"));
    const startedMs = performance.now();
    await expect(reading).rejects.toThrow("no longer wanted");
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    await connector.close();
  });

  test("closing a stopped connector ends its query, also on a slow network", async () => {
    const relay = await startTcpRelay(server.port);
    const connector = await open({ location: `postgres://owner@127.0.0.1:${relay.port}/postgres` });
    await rowsOf(connector, "SELECT 7");
    relay.delayMs = 50;
    const given = new AbortController();
    const reading = (async () => {
      for await (const _ of (await connector.read("SELECT pg_sleep(30)", { signal: given.signal })).chunks);
    })();
    setTimeout(() => given.abort(new Error("no longer wanted")), 800);
    await expect(reading).rejects.toThrow("no longer wanted");
    await connector.close();
    expect(
      await countOf("SELECT count(*)::int AS n FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'"),
    ).toBe(0);
    relay.close();
  });

  test("a server that goes silent while its rows are read ends the reading", async () => {
    const relay = await startTcpRelay(server.port);
    const location = `postgres://owner@127.0.0.1:${relay.port}/postgres`;
    const connector = await open({ location }, { silenceSeconds: 1 });
    const source = await connector.read("SELECT i FROM generate_series(1, 300000) AS i", { signal: never });
    const reading = (async () => {
      for await (const _ of source.chunks) relay.isSilent = true;
    })();
    await expect(reading).rejects.toMatchObject({ code: "source_silent", retryable: true });
    await connector.close();
    relay.close();
  });

  test("a silent server does not delay the closing", async () => {
    const relay = await startTcpRelay(server.port);
    const connector = await open({ location: `postgres://owner@127.0.0.1:${relay.port}/postgres` });
    await rowsOf(connector, "SELECT 7");
    relay.isSilent = true;
    const startedMs = performance.now();
    await connector.close();
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    relay.close();
  });

  async function countOf(sql: string): Promise<number> {
    const { default: pg } = await import("pg");
    const client = new pg.Client({
      host: "127.0.0.1",
      port: server.port,
      user: "owner",
      password: server.password,
      database: "postgres",
    });
    await client.connect();
    const { rows } = await client.query<{ n: number }>(sql);
    await client.end();
    return rows[0]!.n;
  }

  test("more rows than allowed end the reading", async () => {
    const connector = await open({}, { rowsMax: 5000 });
    expect((await failureOf(rowsOf(connector, "SELECT * FROM generate_series(1, 6000)"))).code).toBe("too_many_rows");
    await connector.close();
  });

  test("a restart of the server during a read is retryable, and the next read works", async () => {
    const connector = await open();
    const source = await connector.read("SELECT i, repeat('x', 100) FROM generate_series(1, 300000) AS i", {
      signal: never,
    });
    const reading = (async () => {
      let chunks = 0;
      for await (const _ of source.chunks) if (chunks++ === 3) await server.restart();
    })();
    expect(await failureOf(reading)).toMatchObject({ retryable: true });
    expect(await rowsOf(connector, "SELECT 7")).toEqual([[7]]);
    await connector.close();
  });

  test("a changed password fails with authentication_failed, and the new one works", async () => {
    await server.execute("CREATE ROLE changed LOGIN PASSWORD 'before'");
    let password = "before";
    const location = `postgres://changed@127.0.0.1:${server.port}/postgres`;
    const attempt = () => open({ location }, { secret: () => password });
    await (await attempt()).close();
    await server.execute("ALTER ROLE changed PASSWORD 'after'");
    const { code, message, retryable } = await failureOf(attempt());
    expect([code, retryable]).toEqual(["authentication_failed", false]);
    expect(message).toContain("it may have been changed");
    password = "after";
    const connector = await attempt();
    expect(await rowsOf(connector, "SELECT 7")).toEqual([[7]]);
    await connector.close();
  });

  test("a read that a replica cancels is retryable and says what to do", async () => {
    await server.execute(
      "CREATE TABLE replayed AS SELECT i, repeat('x', 500) AS text FROM generate_series(1, 100000) AS i",
    );
    const replica = await startReplica(bin!, server);
    try {
      const connector = await open({ location: `postgres://owner@127.0.0.1:${replica.port}/postgres` });
      const source = await connector.read("SELECT * FROM replayed", { signal: never });
      const reading = (async () => {
        let rows = 0;
        for await (const chunk of source.chunks) {
          if (rows === 0) await server.execute("DELETE FROM replayed");
          if (rows === 0) await server.execute("VACUUM replayed");
          rows += chunk.rowCount;
        }
        return rows;
      })();
      const { code, message, retryable } = await failureOf(reading);
      expect([code, retryable]).toEqual(["query_cancelled_by_replica", true]);
      expect(message).toContain("hot_standby_feedback");
      expect(await rowsOf(connector, "SELECT 7")).toEqual([[7]]);
      await connector.close();
    } finally {
      await replica.stop();
    }
  });
});
