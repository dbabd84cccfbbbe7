import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { streamWhole } from "../../../../../trainer/read/connectors/duckdb/whole-stream.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await (await DuckDBInstance.create(":memory:")).connect();
});
afterAll(() => connection.closeSync());

async function count(sql: string): Promise<number> {
  const stream = await streamWhole(connection, sql);
  let rows = 0;
  for (let chunk = await stream.next(); chunk !== undefined; chunk = await stream.next()) rows += chunk.rowCount;
  return rows;
}

test("a stream that does not fail gives every row", async () => {
  expect(await count("FROM range(500_000)")).toBe(500_000);
  expect(await count("FROM range(0)")).toBe(0);
});

test("a failure half-way is thrown with its reason", async () => {
  await expect(
    count("SELECT CASE WHEN range = 400_000 THEN error('late trouble') ELSE 1 END FROM range(500_000)"),
  ).rejects.toThrow("late trouble");
  await expect(
    count("SELECT CAST(CASE WHEN range = 400_000 THEN 'x' ELSE '1' END AS INT) FROM range(500_000)"),
  ).rejects.toThrow("Could not convert");
});

test("after a failure, a refusal or an early end the connection can read again", async () => {
  await count("SELECT error('x')").catch(() => undefined);
  await count("SELECT nothing").catch(() => undefined);
  const left = await streamWhole(connection, "FROM range(500_000)");
  await left.next();
  await left.leave();
  expect(await count("FROM range(3)")).toBe(3);
  await streamWhole(connection, "FROM range(500_000)"); // and nobody comes for its chunks
  expect(await count("FROM range(3)")).toBe(3);
});
