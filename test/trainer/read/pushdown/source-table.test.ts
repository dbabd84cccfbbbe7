import { BIGINT, BLOB, BOOLEAN, DATE, DOUBLE, INTEGER, LIST, TIMESTAMP, VARCHAR } from "@duckdb/node-api";
import { describe, expect, test } from "vitest";
import type { Label } from "../../../../shared/label.ts";
import type { SourceColumn } from "../../../../trainer/read/connectors/connector.ts";
import { CONNECTOR_TYPES } from "../../../../trainer/read/connectors/connector-config.ts";
import { sourceTable } from "../../../../trainer/read/pushdown/source-table.ts";
import { dialectOf } from "../../../../trainer/read/rules/dialects.ts";
import { schemaOf } from "../../../fixtures/pushdown-stores.ts";

const BINARY: Label = { type: "Binary", name: "l" };
const good = { u: VARCHAR, i: BIGINT, t: TIMESTAMP, l: BOOLEAN, s: VARCHAR };

function table(type: string, change: Partial<Record<keyof typeof good, SourceColumn["type"]>>, native?: string) {
  const columns = Object.entries({ ...good, ...change });
  const available = columns.map(([name, own]) => ({ name, type: own, ...(native && name in change && { native }) }));
  const query = "SELECT 1";
  const { interaction, ...entities } = schemaOf(BINARY, query);
  const schema = { ...entities, interaction: { ...interaction, session_id: "s" } };
  return sourceTable({ dialect: dialectOf(type)!, query, available, schema, nowSeconds: 0 });
}
const refused = (...args: Parameters<typeof table>) => {
  const outcome = table(...args);
  return "column" in outcome ? outcome.column.name : null;
};

describe.each(CONNECTOR_TYPES)("%s", (type) => {
  test("ids and sessions are integers or texts, times are times or numbers, labels are numbers, booleans or texts", () => {
    expect(refused(type, {})).toBeNull();
    expect(refused(type, { u: BIGINT, i: VARCHAR, t: BIGINT, l: BIGINT })).toBeNull();
    expect(refused(type, { t: DATE, l: VARCHAR })).toBeNull();
    expect(refused(type, { t: DOUBLE, l: DOUBLE })).toBeNull();
    expect(refused(type, { u: DOUBLE })).toBe("u");
    expect(refused(type, { i: LIST(VARCHAR) })).toBe("i");
    expect(refused(type, { s: BIGINT })).toBeNull();
    expect(refused(type, { s: DOUBLE })).toBe("s");
    expect(refused(type, { t: BOOLEAN })).toBe("t");
    expect(refused(type, { l: TIMESTAMP })).toBe("l");
  });
});

test("only DuckDB reads times that are texts", () => {
  expect(CONNECTOR_TYPES.map((type) => refused(type, { t: VARCHAR }))).toEqual(["t", null, null, "t"]);
});

test("BigQuery types that the connector does not fetch by a cast are refused", () => {
  expect(refused("BigQuery", { u: VARCHAR }, "BYTES")).toBe("u");
  expect(refused("BigQuery", { i: VARCHAR }, "JSON")).toBe("i");
  expect(refused("BigQuery", { u: VARCHAR }, "NUMERIC")).toBeNull();
  expect(refused("BigQuery", { u: VARCHAR }, "STRING")).toBeNull();
});

test("in DuckDB, bytes are ids as base64, and 32-bit integers are integers", () => {
  const read = table("File", { u: BLOB, i: INTEGER });
  expect("rules" in read && [read.rules.user.key, read.rules.user.isInteger, read.rules.item.isInteger]).toEqual([
    "to_base64(c0)",
    false,
    true,
  ]);
});
