import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { erasedUsersOf, erasureHash } from "../../../../shared/erased-users.ts";
import type { UserId } from "../../../../shared/ids.ts";
import type { ModelSpec } from "../../../../shared/model-spec.ts";
import type { Connector } from "../../../../trainer/read/connectors/connector.ts";
import { readWithinBudget } from "../../../../trainer/read/pushdown/read-within-budget.ts";
import { spooledHistories } from "../../../../trainer/read/spool/spool-users.ts";
import { type HashedUser, historiesOf } from "../../../../trainer/read/spool/user-histories.ts";
import { openStores, type Rows, type Store, schemaOf } from "../../../fixtures/pushdown-stores.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { itemIdsOf, NOW_MS, readRows, rowsOf, specOf } from "../../../fixtures/rows-spec.ts";

let stores: Store[] = [];
beforeAll(async () => {
  stores = await openStores();
}, 60_000);
afterAll(async () => {
  for (const store of stores) await store.stop();
});

const salt = new Uint8Array(16).fill(5);
const T = 1_700_000_000;
const TYPES: Readonly<Record<string, string>> = { DuckDB: "File", Postgres: "Postgres", BigQuery: "BigQuery" };

/** 1,500 rows of 100 users and 50 items; a few are rejected, and every tenth is a duplicate. */
const rows: Rows = (() => {
  const facts = Array.from({ length: 1500 }, (_, i) => [
    `u${(i * 7) % 100}`,
    (i * 31 + (i >> 4)) % 50,
    (T + i) * 1000,
    i % 4 > 0 ? 1 : 0,
  ]);
  const bad = [
    [null, 1, T * 1000, 1],
    ["u1", null, T * 1000, 1],
    ["u1", 1, -5000, 1],
    ["u1", 1, T * 1000, 9],
  ];
  return {
    kinds: { u: "text", i: "integer", t: "integer", l: "integer" },
    rows: [...facts, ...facts.filter((_, i) => i % 10 === 0), ...bad],
  };
})();

type Options = Partial<Parameters<typeof readWithinBudget>[1]> & {
  readonly change?: (connector: Connector) => Partial<Connector>;
};

/** The rows of a store, read with the memory for about 960 interactions. */
async function read(store: Store, { change, ...options }: Options = {}) {
  const query = await store.hold(rows);
  const workDirectory = await mkdtemp(join(tmpdir(), "within-budget-"));
  const config = { type: TYPES[store.dialect.name]! };
  const spec: ModelSpec = {
    model_name: "m",
    connector_configs: [config],
    schema: schemaOf({ type: "Binary", name: "l" }, query),
    train_schedule: "@once",
  };
  const details: string[] = [];
  const connector = { ...store.connector, ...change?.(store.connector), close: async () => undefined };
  try {
    const found = await readWithinBudget(spec, {
      context: { customer: "test", settings: fileSettings([], workDirectory) },
      workDirectory,
      memoryMbMax: 0.0375,
      rejectedFractionMax: 0.5,
      signal: new AbortController().signal,
      nowMs: NOW_MS,
      progress: ({ detail = "" }) => details.push(detail),
      connect: async () => connector,
      salt,
      ...options,
    });
    const { dataset, summary, spool } = found;
    const users = spool && (await Array.fromAsync(spooledHistories(spool, dataset.itemIds).batches())).flat();
    return { dataset, summary, users: users ? users.map(plain) : null, left: await readdir(workDirectory), details };
  } finally {
    await rm(workDirectory, { recursive: true });
  }
}

const plain = ({ hash, content: { items, times, seen } }: HashedUser) =>
  JSON.stringify([hash, Array.from(items), Array.from(times), Array.from(seen)]);

/** The same rows, all in memory. */
async function inMemory() {
  const values = rows.rows.map(([u, i, t, l]) => `(${u === null ? "NULL" : `'${u}'`}, ${i}, ${t}, ${l})`);
  const { dataset, summary } = await readRows(
    specOf({ interactions: `SELECT * FROM (VALUES ${values.join(", ")}) v(u, i, t, l)` }),
  );
  const users = (await Array.fromAsync(historiesOf(dataset, dataset.userIds, salt).batches())).flat().map(plain);
  return { dataset, summary, users };
}

describe("beyond the budget", () => {
  test("every store gives the same catalog and histories as memory, and a sample that fits", {
    timeout: 60_000,
  }, async () => {
    const whole = await inMemory();
    const samples: string[][] = [];
    for (const store of stores) {
      const { dataset, summary, users, left } = await read(store);
      expect(itemIdsOf(dataset)).toEqual(itemIdsOf(whole.dataset));
      expect(users).toEqual(whole.users);
      expect(left).toEqual(["users.spool"]);
      const all = new Set(rowsOf(whole.dataset));
      const sample = rowsOf(dataset);
      expect(sample.every((row) => all.has(row))).toBe(true);
      expect(sample.length).toBeGreaterThan(300);
      expect(sample.length).toBeLessThanOrEqual(576);
      samples.push(sample);
      const { warnings, sources: _, ...counts } = summary;
      const { warnings: __, recent_days: ___, ...expected } = whole.summary; // a sample does not know the days of all users
      expect(counts).toEqual(expected);
      expect(warnings[0]).toContain(`${store.dialect.name} prepared them`);
      expect(warnings.join()).toContain("1 × missing_user");
    }
    for (const sample of samples) expect(sample).toEqual(samples[0]);
  });

  test("the record names the store's jobs", async () => {
    const bigquery = stores.find(({ dialect }) => dialect.name === "BigQuery")!;
    const { summary } = await read(bigquery);
    const kinds = summary.sources!.map((source) => source.replace(/: BigQuery job .*/, ""));
    expect(kinds).toEqual(["interactions", "the catalog", "times", "reasons", "totals", "records"]);
  });

  test("an erased user is neither in the sample nor in the spool", async () => {
    const erasedSalt = "00112233445566778899aabbccddeeff";
    const erased = erasedUsersOf(erasedSalt, [await erasureHash(erasedSalt, "u7" as UserId)]);
    const { users, summary, dataset } = await read(stores[0]!, { erased });
    expect([users!.length, summary.users]).toEqual([99, 99]);
    expect(rowsOf(dataset).some((row) => row.startsWith("u7 "))).toBe(false);
  });

  test("a column that the store cannot check ends the run with a hint", async () => {
    const change = (connector: Connector): Partial<Connector> => ({
      inspect: async (query, options) => {
        const inspection = await connector.inspect(query, options);
        return {
          ...inspection,
          columns: inspection.columns.map((column) => (column.name === "u" ? { ...column, native: "BYTES" } : column)),
        };
      },
    });
    const bigquery = stores.find(({ dialect }) => dialect.name === "BigQuery")!;
    await expect(read(bigquery, { change })).rejects.toMatchObject({
      code: "too_many_interactions",
      message: expect.stringMatching(
        /BigQuery cannot prepare them because the column "u" is BYTES: expected an integer or a text/,
      ),
    });
  });

  test("an estimate that is far too low is corrected while reading", async () => {
    const change = (connector: Connector): Partial<Connector> => ({
      inspect: async (query, options) => ({ ...(await connector.inspect(query, options)), estimatedRows: 10 }),
    });
    const { users, details } = await read(stores[0]!, { change });
    expect(users).toHaveLength(100);
    expect(details.indexOf("reading interactions")).toBeLessThan(details.indexOf("counting interactions in the store"));
  });
});

describe("within the budget", () => {
  test("all rows are read by one query", async () => {
    const queries: string[] = [];
    const change = (connector: Connector): Partial<Connector> => ({
      inspect: async (query, options) => ({ ...(await connector.inspect(query, options)), estimatedRows: 1500 }),
      read: (query, options) => {
        queries.push(query);
        return connector.read(query, options);
      },
    });
    const { dataset, users, summary } = await read(stores[0]!, { change, memoryMbMax: 64 });
    expect(users).toBeNull();
    expect(queries).toHaveLength(1);
    expect(rowsOf(dataset)).toEqual(rowsOf((await inMemory()).dataset));
    expect(summary.warnings.join()).not.toContain("prepared");
  });

  test("rows are counted first where an estimate is missing or near the limit", async () => {
    const change = (connector: Connector): Partial<Connector> => ({
      inspect: async (query, options) => ({
        ...(await connector.inspect(query, options)),
        estimatedRows: null,
        estimatedBytes: 1e9,
      }),
    });
    const { users, details } = await read(stores[0]!, { change, memoryMbMax: 1 });
    expect(users).toBeNull();
    expect(details).toContain("counting interactions in the store");
  });
});
