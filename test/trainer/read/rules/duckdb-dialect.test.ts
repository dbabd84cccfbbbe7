import { tmpdir } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Label } from "../../../../shared/label.ts";
import { DUCKDB } from "../../../../trainer/read/rules/duckdb-dialect.ts";
import { bothReadings, type Store } from "../../../fixtures/pushdown-stores.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";

let store: Store;
beforeAll(async () => {
  const connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], tmpdir()) });
  store = { dialect: DUCKDB, connector, hold: async () => "", stop: () => connector.close() };
});
afterAll(() => store.stop());

const BINARY: Label = { type: "Binary", name: "l" };
const RATING: Label = { type: "Rating", name: "l", positive_from: 4.1 };
const rows = (casts: string, values: readonly string[]) =>
  `SELECT ${casts} FROM (VALUES ${values.map((value) => `(${value})`).join(", ")}) AS v(u, i, t, l)`;

test.each<[string, Label, string]>([
  [
    "bytes and UUIDs as ids, texts as times",
    BINARY,
    rows("CAST(u AS BLOB) AS u, CAST(i AS UUID) AS i, t, l", [
      "'\\xFF', '00000000-0000-0000-0000-000000000001', '2024-01-01T12:00:00+02:00', 'yes'",
      "'a', '00000000-0000-0000-0000-000000000002', '1700000000', '0'",
      "'a', '00000000-0000-0000-0000-000000000002', 'yesterday', '0'",
    ]),
  ],
  [
    "a FLOAT of 4.1 reaches 4.1, a DOUBLE a little below does not",
    RATING,
    rows("u, i, t, CAST(l AS FLOAT) AS l", ["'a', 'i', 5, '4.1'", "'b', 'j', 5, '4.0999'", "'b', 'k', 5, 'nan'"]),
  ],
  [
    "DOUBLE ratings",
    RATING,
    rows("u, i, t, CAST(l AS DOUBLE) AS l", ["'a', 'i', 5, '4.1'", "'b', 'j', 5, '4.0999999'", "'b', 'k', 5, 'inf'"]),
  ],
  [
    "large integers",
    BINARY,
    rows("CAST(u AS HUGEINT) AS u, CAST(i AS UBIGINT) AS i, t, l", [
      "170141183460469231731687303715884105727, 18446744073709551615, 5, 1",
      "-5, 0, 5, 0",
    ]),
  ],
])("the dialect and the trainer read the same interactions: %s", async (_, label, query) => {
  const { prepared, own } = await bothReadings(store, query, label);
  expect(prepared).toEqual(own);
  expect(prepared.facts.length).toBeGreaterThanOrEqual(2);
});
