import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkSelect } from "../../../../../trainer/read/connectors/duckdb/select.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(() => connection.closeSync());

const check = (query: string) => checkSelect(connection, query, ["events", "Items"]);

test.each<[string, string[]]>([
  ["SELECT * FROM events", ["events"]],
  ["FROM EVENTS", ["events"]],
  ["SELECT 1", []],
  ["VALUES (1, 2)", []],
  ["WITH e AS (SELECT * FROM events) SELECT * FROM e JOIN items USING (id)", ["Items", "events"]],
  ["SELECT * FROM events UNION ALL SELECT * FROM main.items", ["Items", "events"]],
  ["SELECT (SELECT count(*) FROM items) FROM range(3)", ["Items"]],
  ["SELECT unnest(x), u FROM events, unnest([1, 2]) t(u)", ["events"]],
  ["WITH events AS (SELECT * FROM events) SELECT * FROM events", ["events"]],
  ["WITH views AS (SELECT * FROM events) SELECT * FROM views", ["events"]],
  ["WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r", []],
])("%s reads %j", async (query, tables) => expect([...(await check(query)).tables].sort()).toEqual(tables));

test("a syntax error names line and column", () =>
  expect(check("SELECT *\nFORM events")).rejects.toThrow("line 2, column 6"));

test("the error of an absent table lists the tables and suggests the nearest", () =>
  expect(check("SELECT * FROM evnts")).rejects.toThrow(
    'There is no table "evnts"; the tables are "events", "Items"; did you mean "events"?',
  ));

test("a table of another schema is refused", () =>
  expect(check("SELECT * FROM information_schema.events")).rejects.toMatchObject({ code: "source_table_not_found" }));

test.each([
  ["WITH pg_settings AS (SELECT 1) SELECT * FROM pg_catalog.pg_settings", "source_query_refused"],
  ["SELECT * FROM duckdb_views, (WITH Duckdb_Views AS (SELECT 1) FROM Duckdb_Views)", "source_query_refused"],
  ["SELECT * FROM reject_scans, (WITH reject_scans AS (SELECT 1) FROM reject_scans)", "source_query_refused"],
  ["WITH tables AS (SELECT 1) SELECT * FROM information_schema.tables", "source_table_not_found"],
])("a WITH does not allow other tables of its name: %s", (query, code) =>
  expect(check(query)).rejects.toMatchObject({ code }),
);

test("a WITH can have the name of no system view", async () => {
  const views = await connection.runAndReadAll(
    "SELECT view_name FROM duckdb_views() WHERE internal AND schema_name IN ('main', 'pg_catalog')",
  );
  for (const [name] of views.getRows())
    await expect(check(`WITH ${name} AS (SELECT 1) FROM ${name}`)).rejects.toMatchObject({
      code: "source_query_refused",
    });
});

test("a quote in a query cannot end the literal of the check", () =>
  expect(check("SELECT '); DROP TABLE x; --' FROM events")).resolves.toEqual({
    tables: ["events"],
    makesRows: false,
    namesBehind: expect.any(Function),
  }));

test("names behind an output are found through casts, functions and subqueries, but not in conditions", async () => {
  const { namesBehind } = await check(
    `WITH w AS (SELECT CAST("Sku" AS VARCHAR) AS s, CASE WHEN price > 10 THEN brand ELSE 'x' END AS b, stock FROM events)
     SELECT s || '-' || b AS item_id, stock AS n FROM w`,
  );
  expect([...namesBehind(["item_id"])].sort()).toEqual(["b", "brand", "item_id", "s", "sku"]);
});
