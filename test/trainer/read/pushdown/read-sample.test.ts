import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Connector } from "../../../../trainer/read/connectors/connector.ts";
import { NEWEST_PER_USER, readSample, sampleOf } from "../../../../trainer/read/pushdown/read-sample.ts";
import { readTotals } from "../../../../trainer/read/pushdown/source-totals.ts";
import { DUCKDB } from "../../../../trainer/read/rules/duckdb-dialect.ts";
import { heldTable, schemaOf } from "../../../fixtures/pushdown-stores.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { NOW_MS, rowsOf } from "../../../fixtures/rows-spec.ts";

let connector: Connector;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "read-sample-"));
  connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], folder) });
});
afterAll(async () => {
  await connector.close();
  await rm(folder, { recursive: true });
});

const label = { type: "Binary", name: "l" } as const;

async function sample(query: string, memoryMbMax: number, change: (newest: number) => number = (newest) => newest) {
  const store = { dialect: DUCKDB, connector, hold: async () => query, stop: async () => undefined };
  const { signal } = new AbortController();
  const table = await heldTable(store, undefined as never, { label, nowSeconds: NOW_MS / 1000 });
  const source = { connector, table, signal, origins: [] };
  const totals = await readTotals(source, NEWEST_PER_USER);
  const schema = schemaOf(label, query);
  const { dataset } = await readSample(
    {
      model_name: "m",
      connector_configs: [{ type: "Memory" }],
      schema: { ...schema, interaction: { ...schema.interaction, incremental: true } },
      train_schedule: "@once",
    },
    { source, totals: { ...totals, newest: change(totals.newest) } },
    {
      context: { customer: "t", settings: fileSettings([], folder) },
      workDirectory: folder,
      memoryMbMax,
      rejectedFractionMax: 0,
      signal,
      nowMs: NOW_MS,
      progress: () => undefined,
      connect: async () => ({ ...connector, close: async () => undefined }),
    },
  );
  return { dataset, totals };
}

const rows = (users: number, each: number) =>
  `SELECT 'u' || (i % ${users}) AS u, 'i' || (i % 97) AS i, 1700000000 + i AS t, 1 AS l FROM range(${users * each}) r(i)`;

test("a sample is the users whose hash begins below a bound", () => {
  expect(sampleOf(0.5)).toMatchObject({ kind: "newest", perUser: 500, of: { kind: "sampled", below: "80000000" } });
  expect(sampleOf(1 / 256)).toMatchObject({ of: { below: "01000000" } });
  expect(sampleOf(1e-12)).toMatchObject({ of: { below: "00000001" } });
  expect(sampleOf(1)).toMatchObject({ kind: "newest", of: { kind: "distinct" } });
});

test("the sample has as many users as fit, each with all newest interactions", async () => {
  const { dataset } = await sample(rows(1000, 8), 0.15); // 2,307 interactions fit beside fits; the sample aims at two thirds of them
  expect(dataset.items.length).toBeGreaterThan(1300);
  expect(dataset.items.length).toBeLessThanOrEqual(2307);
  expect(dataset.items.length).toBe(dataset.userCount * 8);
});

test("a heavy user has the newest 500 interactions", async () => {
  const heavy = `${rows(50, 4)} UNION ALL SELECT 'heavy', 'j' || i, 1700000000 + i, 1 FROM range(4000) r(i)`;
  const { dataset, totals } = await sample(heavy, 0.15);
  expect([totals.interactions, totals.newest]).toEqual([4200, 700]);
  const kept = rowsOf(dataset).filter((row) => row.startsWith("heavy"));
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([500, "heavy j3500 1700003500 1", "heavy j3999 1700003999 1"]);
});

test("a sample that turns out too large is drawn smaller", async () => {
  const { dataset } = await sample(rows(1000, 8), 0.15, (newest) => newest / 3);
  expect(dataset.items.length).toBeLessThanOrEqual(2307);
  expect(dataset.items.length).toBeGreaterThan(1000);
});
