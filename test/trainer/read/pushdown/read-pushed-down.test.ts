import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../../../trainer/read/connectors/connect.ts";
import type { Connector } from "../../../../trainer/read/connectors/connector.ts";
import { type PushDownOptions, readPushedDown } from "../../../../trainer/read/pushdown/read-pushed-down.ts";
import type { Dialect } from "../../../../trainer/read/rules/dialect.ts";
import { DUCKDB } from "../../../../trainer/read/rules/duckdb-dialect.ts";
import { readSpool } from "../../../../trainer/read/spool/user-spool.ts";
import { schemaOf } from "../../../fixtures/pushdown-stores.ts";
import { fileSettings } from "../../../fixtures/real-data.ts";
import { connectMemory } from "../../../fixtures/rows-memory.ts";
import { itemIdsOf, NOW_MS } from "../../../fixtures/rows-spec.ts";

let connector: Connector;
beforeAll(async () => {
  connector = await connectMemory({ type: "Memory" }, { customer: "t", settings: fileSettings([], tmpdir()) });
});
afterAll(() => connector.close());

type ReadOptions = Partial<PushDownOptions> & {
  /** The query of items. */
  readonly items?: string;
  readonly store?: Connector;
  readonly dialect?: Dialect;
};

async function read(query: string, { items, store = connector, dialect = DUCKDB, ...options }: ReadOptions = {}) {
  const workDirectory = await mkdtemp(join(tmpdir(), "pushed-down-"));
  const { signal = new AbortController().signal } = options;
  const schema = schemaOf({ type: "Binary", name: "l" }, query);
  const spec = {
    model_name: "m",
    connector_configs: [{ type: "Memory" }],
    schema: { ...schema, item: { ...schema.item, ...(items && { source: { query: items } }) } },
    train_schedule: "@once",
  };
  const { columns: available } = await store.inspect(query, signal);
  const asked = { query: { dialect, query, available, schema, nowSeconds: NOW_MS / 1000 }, connector: store };
  try {
    const found = await readPushedDown(spec, asked, {
      context: { customer: "t", settings: fileSettings([], workDirectory) },
      workDirectory,
      memoryMbMax: 0.03,
      rejectedFractionMax: 0.5,
      signal,
      nowMs: NOW_MS,
      progress: () => undefined,
      connect: async () => ({ ...store, close: async () => undefined }),
      salt: new Uint8Array(16),
      ...options,
    });
    const users = (await Array.fromAsync(readSpool(found.spool.path))).flat();
    return { ...found, users, left: await readdir(workDirectory) };
  } finally {
    const left = await readdir(workDirectory);
    await rm(workDirectory, { recursive: true });
    expect(left.filter((name) => name.startsWith("staging-"))).toEqual([]);
  }
}

const rows = (count: number) =>
  `SELECT 'u' || (i % 211) AS u, 'i' || (i % 97) AS i, (1700000000 + i) * 1000 AS t, 1 AS l FROM range(${count}) r(i)`;

test("the record says how many rows there are, and how many were read", async () => {
  const { summary, dataset, spool, left } = await read(rows(2110));
  expect(summary).toMatchObject({ users: 211, items: 97, interactions: 2110, positives: 2110, duplicate_rows: 0 });
  expect(summary).not.toHaveProperty("recent_days");
  expect([summary.from, summary.to]).toEqual(["2023-11-14T22:13:20.000Z", "2023-11-14T22:48:29.000Z"]);
  expect(summary.warnings[0]).toBe(
    "2110 interactions are more than the 461 that this run's memory holds beside its fits: DuckDB prepared them. " +
      `Models are chosen and fitted on the newest ${dataset.items.length} interactions of ${dataset.userCount} of 211 users, ` +
      "sampled at random (at most 500 a user); " +
      "the catalog has every item, and all 211 users are shown only items that they have not seen",
  );
  expect([spool.userCount, left]).toEqual([211, ["users.spool"]]);
});

test("a store whose results are limited gives the records in slices of the users", async () => {
  const statements: string[] = [];
  const store: Connector = {
    ...connector,
    read: (sql, options) => {
      if (sql.includes("user_hash")) statements.push(sql);
      return connector.read(sql, options);
    },
  };
  const [whole, sliced] = [
    await read(rows(2110), { store }),
    await read(rows(2110), { store, dialect: { ...DUCKDB, recordRowsMax: 900 } }),
  ];
  expect(statements).toHaveLength(1 + 3);
  expect(sliced.users).toEqual(whole.users);
  expect(sliced.users).toHaveLength(211);
});

test("every item of the catalog has its attributes, also without interactions", async () => {
  const items = "SELECT 'i' || i AS i, i * 10 AS price FROM range(50, 120) r(i)";
  const { dataset } = await read(rows(2110), { items });
  const ids = itemIdsOf(dataset);
  expect(ids).toHaveLength(120);
  const [price] = dataset.itemAttributes as unknown as [{ values: Float64Array }];
  const expected = ids.map((id) => (Number(id.slice(1)) >= 50 ? Number(id.slice(1)) * 10 : Number.NaN));
  expect([...price.values]).toEqual(expected);
});

test("too many rejected rows end the run before rows are read", async () => {
  const bad = `SELECT u, i, t, 7 AS l FROM (${rows(2000)}) UNION ALL (${rows(800)})`;
  await expect(read(bad)).rejects.toMatchObject({ stage: "checking", code: "too_many_rejected_rows" });
  await expect(read(`${rows(10)} WHERE false`)).rejects.toMatchObject({ code: "no_rows" });
});

test("malformed lines are counted once, among all rows", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pushed-down-file-"));
  const line = (i: number) => `u${i % 211},i${i % 97},${1_700_000_000 + i},1`;
  const lines = Array.from({ length: 2500 }, (_, i) => (i % 5 === 0 ? `${line(i)},one,too,many` : line(i)));
  await writeFile(join(folder, "events.csv"), `u,i,t,l\n${lines.join("\n")}\n`);
  const context = { customer: "t", settings: fileSettings([folder], join(folder, "temp")) };
  const store = await connect({ type: "File", location: "events.csv" }, context);
  try {
    const { summary, dataset } = await read("SELECT * FROM events", { store, rejectedFractionMax: 0.3 });
    expect(dataset.items.length).toBeLessThan(1000); // of these, 500 malformed lines would be too many
    expect(summary).toMatchObject({ interactions: 2000, rejected_rows: { malformed_line: 500 }, duplicate_rows: 0 });
    expect(summary.warnings.filter((text) => text.includes("500 × malformed_line"))).toHaveLength(1);
    const tooMany = { code: "too_many_rejected_rows", message: expect.stringContaining("500 of 2500 rows") };
    await expect(read("SELECT * FROM events", { store, rejectedFractionMax: 0.19 })).rejects.toMatchObject(tooMany);
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
});

test("ids of a file that a number would change stay as they are written", async () => {
  const folder = await mkdtemp(join(tmpdir(), "pushed-down-ids-"));
  const ids = ["1.1", "1.10", "2.5", "2.50"];
  const lines = Array.from(
    { length: 2400 },
    (_, i) => `${ids[i % 4]}${i % 599},${ids[(i >> 2) % 4]},${1_700_000_000 + i},1`,
  );
  await writeFile(join(folder, "events.csv"), `u,i,t,l\n${lines.join("\n")}\n`);
  const context = { customer: "t", settings: fileSettings([folder], join(folder, "temp")), idColumns: ["u", "i"] };
  const store = await connect({ type: "File", location: "events.csv" }, context);
  try {
    const { dataset, summary } = await read("SELECT * FROM events", { store });
    expect(itemIdsOf(dataset).toSorted()).toEqual(ids);
    expect(summary.users).toBe(new Set(lines.map((line) => line.split(",")[0])).size);
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
});

test("an abort at any step ends with its reason and leaves no database", async () => {
  for (const moment of [
    "counting interactions in the store",
    "reading interactions",
    "reading the catalog",
    "sorting rows",
  ]) {
    const stop = new AbortController();
    const progress = ({ detail = "" }) => {
      if (detail === moment) stop.abort(new Error(`stopped at ${moment}`));
    };
    await expect(read(rows(2110), { signal: stop.signal, progress })).rejects.toThrow(`stopped at ${moment}`);
  }
});
