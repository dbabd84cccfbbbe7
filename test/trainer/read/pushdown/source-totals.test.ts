import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Connector } from "../../../../trainer/read/connectors/connector.ts";
import {
  type PushedSource,
  readRejected,
  readTimes,
  readTotals,
} from "../../../../trainer/read/pushdown/source-totals.ts";
import { DUCKDB } from "../../../../trainer/read/rules/duckdb-dialect.ts";
import { heldTable, type Rows, valuesQuery } from "../../../fixtures/pushdown-stores.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";

const T = 1_700_000_000;
let connector: Connector;
beforeAll(async () => {
  connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], tmpdir()) });
});
afterAll(() => connector.close());

async function sourceOf(rows: Rows["rows"], { time = "integer" as Rows["kinds"]["t"] } = {}) {
  const store = {
    dialect: DUCKDB,
    connector,
    hold: async (held: Rows) => valuesQuery(held),
    stop: async () => undefined,
  };
  const kinds = { u: "text", i: "text", t: time, l: "integer" } as const;
  const table = await heldTable(store, { kinds, rows }, { label: { type: "Binary", name: "l" }, nowSeconds: T + 1e6 });
  return { connector, table, signal: new AbortController().signal, origins: [] };
}

const readUnit = async (source: PushedSource) => (await readTimes(source, undefined)).unit;

test("the unit is the one that most times are in; timestamps have the unit 1", async () => {
  expect(
    await readUnit(
      await sourceOf([
        ["u", "i", T * 1000, 1],
        ["u", "j", T * 1000, 1],
        ["u", "k", T, 1],
      ]),
    ),
  ).toBe(1000);
  expect(await readUnit(await sourceOf([["u", "i", T, 1]]))).toBe(1);
  expect(await readUnit(await sourceOf([["u", "i", T * 1e6, 1]]))).toBe(1_000_000);
  expect(await readUnit(await sourceOf([["u", "i", null, 1]]))).toBe(1);
  expect(await readUnit(await sourceOf([["u", "i", "2024-01-01", 1]], { time: "timestamp" }))).toBe(1);
  const texts = ["NaN", "NaN", "Infinity", String(T)].map((time): Rows["rows"][number] => ["u", "i", time, 1]);
  expect(await readUnit(await sourceOf(texts, { time: "text" }))).toBe(1);
});

test("rejected rows are counted by reason", async () => {
  const source = await sourceOf([
    ["u", "i", T, 1],
    [null, "i", T, 1],
    ["", "i", T, 1],
    ["u", "i", T, 5],
    ["u", "i", null, 1],
  ]);
  const reason = (count: number) => ({ count, firstRows: [] });
  expect(await readRejected(source)).toEqual({
    rows: 5,
    rejected: { missing_user: reason(2), unparsable_label: reason(1), missing_time: reason(1) },
  });
});

test("rows that the store could not read are counted too", async () => {
  const source = await sourceOf([
    ["u", "i", T, 1],
    [null, "i", T, 1],
  ]);
  const read: Connector["read"] = async (...asked) => ({
    ...(await connector.read(...asked)),
    unreadable: () => ({ malformed_line: 7 }),
  });
  const reason = (count: number) => ({ count, firstRows: [] });
  expect(await readRejected({ ...source, connector: { ...connector, read } })).toEqual({
    rows: 9,
    rejected: { missing_user: reason(1), malformed_line: reason(7) },
  });
});

test("totals of two users with three and one interactions, two newest a user", async () => {
  const source = await sourceOf([
    ["u", "i", T, 1],
    ["u", "i", T, 0],
    ["u", "j", T + 5, 1],
    ["u", "k", T + 9, 0],
    ["v", "i", T, 1],
  ]);
  expect(await readTotals(source, 2)).toEqual({
    users: 2,
    interactions: 4,
    positives: 3,
    firstSecond: T,
    lastSecond: T + 9,
    newest: 3,
  });
});

test("totals without accepted rows are 0", async () =>
  expect(await readTotals(await sourceOf([[null, "i", T, 1]]), 2)).toEqual({
    users: 0,
    interactions: 0,
    positives: 0,
    firstSecond: 0,
    lastSecond: 0,
    newest: 0,
  }));
