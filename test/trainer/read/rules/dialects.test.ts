import { BIGINT, DECIMAL, DOUBLE, LIST, VARCHAR } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../../../trainer/read/connectors/connect.ts";
import type { Connector } from "../../../../trainer/read/connectors/connector.ts";
import { CONNECTOR_TYPES } from "../../../../trainer/read/connectors/connector-config.ts";
import { dialectOf, momentLiteral, queryFrom } from "../../../../trainer/read/rules/dialects.ts";
import { type BigQueryWorld, bigqueryWorld } from "../../../fixtures/bigquery-world.ts";
import { findPostgres, type PostgresServer, startPostgres } from "../../../fixtures/postgres-server.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";

const { signal } = new AbortController();
const BEFORE = Date.UTC(2024, 1, 29, 12) / 1000;
const MOMENT = { before: BEFORE, unit: 1000 } as const;

/** Times before the moment, and times from the moment on. Types are DuckDB's and Postgres's. */
const TIMES: readonly (readonly [type: string, before: readonly string[], from: readonly string[]])[] = [
  [
    "timestamp",
    ["2024-02-29 11:59:59.999999", "1969-12-31 23:59:58.5"],
    ["2024-02-29 12:00:00", "2024-02-29 12:00:00.000001", "2999-01-01 00:00:00"],
  ],
  [
    "timestamptz",
    ["2024-02-29 11:59:59.999999+00", "2024-02-29 13:59:59+02"],
    ["2024-02-29 12:00:00+00", "2024-02-29 14:00:00+02"],
  ],
  ["date", ["2024-02-28", "1969-12-31"], ["2024-02-29", "2024-03-01"]],
  ["bigint", [`${BEFORE - 1}999`, "-5", "0"], [`${BEFORE}000`, `${BEFORE}999`]],
];

type Things = {
  connector(): Connector;
  /** A query of columns n (0, 1, …) and t. */
  query(type: string, times: readonly string[]): Promise<string>;
};

/** The values of n that a query gives from the moment on. */
async function numbersFrom(connectorType: string, connector: Connector, query: string): Promise<number[]> {
  const { columns } = await connector.inspect(query, signal);
  const part = queryFrom(dialectOf(connectorType)!, query, columns[1]!, MOMENT);
  const { chunks } = await connector.read(part!, { signal, columns: ["n"] });
  const numbers: number[] = [];
  for await (const chunk of chunks) for (const [n] of chunk.getRows()) numbers.push(Number(n));
  return numbers.sort((a, b) => a - b);
}

function partSuite(connectorType: string, { connector, query }: Things): void {
  test.each(TIMES)(
    "a query of %s gives the rows from a moment on and those without a time",
    async (type, before, from) => {
      const times = [...before.map((time) => `'${time}'`), ...from.map((time) => `'${time}'`), "NULL"];
      const expected = times.map((_, n) => n).slice(before.length);
      expect(await numbersFrom(connectorType, connector(), await query(type, times))).toEqual(expected);
    },
  );
}

const valuesQuery = async (type: string, times: readonly string[]) =>
  `SELECT n, CAST(t AS ${type}) AS t FROM (VALUES ${times.map((time, n) => `(${n}, ${time})`).join(", ")}) v(n, t)`;

describe("DuckDB, the language of files", () => {
  let connector: Connector;
  beforeAll(async () => {
    connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], "") });
  });
  afterAll(() => connector.close());
  partSuite("File", { connector: () => connector, query: valuesQuery });

  test.each(["TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])("%s is compared in its own precision", async (type) => {
    const query = await valuesQuery(type, ["'2024-02-29 11:59:59'", "'2024-02-29 12:00:00'"]);
    expect(await numbersFrom("File", connector, query)).toEqual([1]);
  });
});

describe("BigQuery", () => {
  let world: BigQueryWorld;
  let connector: Connector;
  beforeAll(async () => {
    world = await bigqueryWorld();
    connector = await world.open();
  });
  afterAll(async () => {
    await connector.close();
    await world.stop();
  });
  partSuite("BigQuery", {
    connector: () => connector,
    async query(type, times) {
      await world.fake.engine.execute(`CREATE OR REPLACE TABLE shop.things AS ${await valuesQuery(type, times)}`);
      return "SELECT * FROM `acme-data.shop.things`";
    },
  });
});

const bin = findPostgres();
if (!bin) console.warn("Skipped: no Postgres server is installed here (Debian's package is `postgresql`).");
describe.skipIf(!bin)("Postgres", () => {
  let server: PostgresServer;
  let connector: Connector;
  beforeAll(async () => {
    server = await startPostgres(bin!);
    const location = `postgres://owner@127.0.0.1:${server.port}/postgres`;
    const settings = { ...fileSettings([], ""), allowPrivateAddresses: true, secret: () => server.password };
    const config = { type: "Postgres", location, password: { env: "OWNER" }, sslmode: "disable" };
    connector = await connect(config, { customer: "acme", settings });
  });
  afterAll(async () => {
    await connector.close();
    await server.stop();
  });
  partSuite("Postgres", { connector: () => connector, query: valuesQuery });
});

test.each(CONNECTOR_TYPES)("%s: types whose order need not be that of time have no literal", (connectorType) => {
  for (const type of [VARCHAR, DOUBLE, DECIMAL(12, 2), LIST(BIGINT)])
    expect(momentLiteral(dialectOf(connectorType)!, { name: "t", type }, MOMENT)).toBeUndefined();
});
