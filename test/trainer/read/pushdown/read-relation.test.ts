import { DOUBLE, DuckDBDataChunk, VARCHAR } from "@duckdb/node-api";
import { expect, test } from "vitest";
import type { Connector, SourceRows } from "../../../../trainer/read/connectors/connector.ts";
import { openRelation, type PushedSource, readSmallRelation } from "../../../../trainer/read/pushdown/read-relation.ts";
import { sourceTable } from "../../../../trainer/read/pushdown/source-table.ts";
import { DUCKDB } from "../../../../trainer/read/rules/duckdb-dialect.ts";
import { schemaOf } from "../../../fixtures/pushdown-stores.ts";

const { signal } = new AbortController();

function chunk(rows: readonly (readonly [string | null, number])[]) {
  const made = DuckDBDataChunk.create([VARCHAR, DOUBLE], rows.length);
  made.setRows(rows.map((row) => [...row]));
  return made;
}

/** A source whose store answers every query with these rows. */
function source(
  rows: readonly (readonly [string | null, number])[],
  chunks = 1,
): PushedSource & { readonly asked: string[] } {
  const asked: string[] = [];
  const read: Connector["read"] = async (query, options): Promise<SourceRows> => {
    expect(options.signal).toBe(signal);
    asked.push(query);
    const columns = [
      { name: "reason", type: VARCHAR },
      { name: "row_count", type: DOUBLE },
    ];
    return {
      columns,
      chunks: (async function* () {
        for (let i = 0; i < chunks; i++) yield chunk(rows);
      })(),
      expectedRows: null,
      origin: `job ${asked.length}`,
    };
  };
  const query = "SELECT 1";
  const available = ["u", "i", "t"]
    .map((name) => ({ name, type: VARCHAR }))
    .concat({ name: "l", type: DOUBLE as never });
  const schema = schemaOf({ type: "Binary", name: "l" }, query);
  const table = sourceTable({ dialect: DUCKDB, query, available, schema, nowSeconds: 0 });
  if ("column" in table) throw new Error(table.meaning);
  return { connector: { read } as unknown as Connector, table, signal, origins: [], asked };
}

test("rows become texts by column, and the job is noted", async () => {
  const store = source([
    ["x", 1.5],
    [null, 2],
  ]);
  expect(await readSmallRelation(store, { kind: "reasons" })).toEqual([
    { reason: "x", row_count: "1.5" },
    { reason: null, row_count: "2" },
  ]);
  await openRelation(store, { kind: "items", of: { kind: "accepted" } });
  expect(store.origins).toEqual(["reasons: job 1", "items: job 2"]);
  expect(store.asked[0]).toContain("FROM (\nSELECT 1\n) AS source");
});

test("too many rows of totals are refused", async () => {
  const store = source(
    Array.from({ length: 501 }, (_, i) => ["x", i] as const),
    2,
  );
  await expect(readSmallRelation(store, { kind: "reasons" })).rejects.toMatchObject({ code: "too_many_rows" });
});
