import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { EventMeanings } from "../../../../../shared/events/event.ts";
import { oldMergesKey } from "../../../../../shared/events/event-store.ts";
import { MERGE, mergeLine } from "../../../../../shared/events/merges.ts";
import type { UserId } from "../../../../../shared/ids.ts";
import type { ModelSpec } from "../../../../../shared/model-spec.ts";
import { type Connector, jsonRows } from "../../../../../trainer/read/connectors/connector.ts";
import { connectEvents, withEventTypes } from "../../../../../trainer/read/connectors/events/events.ts";
import { type FetchOptions, fetchEvents } from "../../../../../trainer/read/connectors/events/fetch-events.ts";
import type { ObjectStore } from "../../../../../trainer/store/object-store.ts";
import { EVENTS_AT, type GivenEvent, putEvents } from "../../../../fixtures/event-files.ts";
import { memoryStore } from "../../../../fixtures/memory-store.ts";
import { fileSettings } from "../../../../fixtures/real-data.ts";
import { type ColumnKind, connectorSuite } from "../../../../suites/connector-suite.ts";

const MEANINGS: EventMeanings = {
  view: { label: true, seen: true },
  dislike: { label: false, seen: true },
  impression: { label: false, seen: false },
};
const mergeOf = (from: string, to: string) => ({ from: from as UserId, to: to as UserId });
const never = new AbortController().signal;
let root: string;
let store: ObjectStore;
let directory: string;
let storeMs = 1;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "events-connector-"));
});
afterAll(() => rm(root, { recursive: true }));
beforeEach(async () => {
  store = memoryStore(() => storeMs);
  directory = await mkdtemp(join(root, "copies-"));
});

const fetched = (options: Partial<FetchOptions> = {}) =>
  fetchEvents(MEANINGS, { store, customer: "acme", directory, signal: never, ...options });

async function open(options: Partial<FetchOptions> = {}): Promise<Connector> {
  const events = await fetched(options);
  return await connectEvents({ type: "Events" }, { customer: "acme", settings: fileSettings([], root), events });
}

async function rowsOf(query = "SELECT * FROM events ORDER BY event_id"): Promise<object[]> {
  const connector = await open();
  try {
    return await jsonRows(await connector.read(query, { signal: never }));
  } finally {
    await connector.close();
  }
}

const SQL: Readonly<Record<ColumnKind, string>> = {
  integer: "BIGINT",
  double: "DOUBLE",
  text: "VARCHAR",
  boolean: "BOOLEAN",
  timestamp: "TIMESTAMP",
  "text[]": "VARCHAR[]",
};

describe("as every connector, with a table in the item ids of events", () => {
  connectorSuite({
    async holding({ columns, rows }) {
      const json = (row: readonly unknown[]) =>
        JSON.stringify(row.map((value) => (value === null ? null : String(value))));
      if (rows.length > 0)
        await putEvents(
          store,
          rows.map((row) => ({ user: "u", item: json(row) })),
        );
      const list = Object.entries(columns).map(
        ([name, kind], i) => `CAST(item_id ->> ${i} AS ${SQL[kind]}) AS ${name}`,
      );
      const withThings = (query: string) => `WITH things AS (SELECT ${list.join(", ")} FROM events) ${query}`;
      const connector = await open();
      return {
        inspect: (query, signal) => connector.inspect(withThings(query), signal),
        read: (query, options) => connector.read(withThings(query), options),
        close: connector.close,
      };
    },
  });
});

describe("the table", () => {
  test("has the events by which an item is seen, with the labels of their types", async () => {
    await putEvents(store, [
      { user: "2024-01-01", item: "007", at: EVENTS_AT + 1, value: 2.5, rankId: "r1" },
      { user: "u", item: "i", type: "dislike" },
      { user: "u", item: "i", type: "impression" },
      { user: "u", item: "i", type: "unknown" },
    ]);
    const first = { event_id: "e1", user_id: "2024-01-01", item_id: "007", type: "view", label: true };
    const second = { event_id: "e2", user_id: "u", item_id: "i", type: "dislike", label: false };
    expect(await rowsOf()).toEqual([
      { ...first, value: 2.5, rank_id: "r1", created_at: "2024-02-01 00:00:01", positive_type: 1 },
      { ...second, value: null, rank_id: null, created_at: "2024-02-01 00:00:00", positive_type: 0 },
    ]);
  });

  test("has one id for each person, also where the file with the merge is gone or was copied by an earlier run", async () => {
    const merge = (from: string, to: string): GivenEvent => ({ user: from, item: to, type: MERGE });
    await putEvents(store, [{ user: "a", item: "x" }, merge("a", "b")]);
    await putEvents(store, [{ user: "b", item: "y" }, merge("b", "c")], { shard: "0-1" });
    await putEvents(
      store,
      [
        { user: "old", item: "z" },
        { user: "c", item: "x" },
      ],
      { shard: "0-2" },
    );
    const line = JSON.stringify({ ...mergeLine(mergeOf("old", "c"), { seq: 1, at: 0 }) });
    await store.putIfAbsent(oldMergesKey("acme"), gzipSync(`${line}\n`), "application/gzip");
    for (let run = 0; run < 2; run++) {
      const rows = (await rowsOf("SELECT user_id, item_id FROM events ORDER BY item_id, event_id")) as object[];
      expect(rows).toEqual(["x", "x", "y", "z"].map((item_id) => ({ user_id: "c", item_id })));
    }
    await expect(rowsOf("SELECT * FROM persons")).rejects.toThrow(/persons/);
  });

  test("a model of several positive types reads the number of the type, any other the label", () => {
    const meanings = { ...MEANINGS, purchase: { label: true, seen: true } };
    const specOf = (events: EventMeanings, type: string) =>
      ({
        connector_configs: [{ type }],
        schema: { interaction: { label: { type: "Binary", name: "label" }, source: { query: "SELECT" }, events } },
      }) as unknown as ModelSpec;
    const several = withEventTypes(specOf(meanings, "Events"));
    expect(several.eventTypes).toEqual(["view", "purchase"]);
    expect(several.spec.schema.interaction.label).toEqual({ type: "Weight", name: "positive_type" });
    for (const other of [specOf(MEANINGS, "Events"), specOf(meanings, "File")])
      expect(withEventTypes(other)).toEqual({ spec: other });
  });

  test("a label of several types of events lets the choice find what they count, unless it says so", () => {
    const specOf = (label: object) =>
      ({ schema: { interaction: { label: { type: "Events", name: "t", ...label } } } }) as unknown as ModelSpec;
    const positive = ["purchase", "cart"];
    expect(withEventTypes(specOf({ positive })).eventTypes).toEqual(["cart", "purchase"]);
    for (const label of [{ positive: ["purchase"] }, { positive, weights: { purchase: 5 } }])
      expect(withEventTypes(specOf(label))).toEqual({ spec: specOf(label) });
  });

  test("has the files of all shards, and is empty without files", async () => {
    expect(await rowsOf()).toEqual([]);
    for (const shard of ["0-0", "0-1", "1-0"]) await putEvents(store, [{ user: shard, item: "i" }], { shard });
    expect(await rowsOf("SELECT user_id FROM events ORDER BY 1")).toEqual(
      ["0-0", "0-1", "1-0"].map((user_id) => ({ user_id })),
    );
  });

  test("has the events of merged files, which are several gzip files in one", async () => {
    const key = await putEvents(store, many(3));
    const found = (await store.get(key))!;
    await store.swap(key, Buffer.concat(Array(50).fill(found.bytes)), found.etag);
    expect(await rowsOf("SELECT count(*)::INT AS count FROM events")).toEqual([{ count: 150 }]);
  });

  test("is estimated from the sizes of the files", async () => {
    for (let file = 0; file < 20; file++) await putEvents(store, many(100), { first: 1 + file * 100 });
    const connector = await open();
    const { estimatedRows, estimatedBytes } = await connector.inspect("SELECT * FROM events", never);
    await connector.close();
    expect(estimatedRows).toBeGreaterThan(1800);
    expect(estimatedRows).toBeLessThan(2200);
    expect(estimatedBytes).toBeGreaterThan(1000);
  });

  test("cannot reach other files", async () => {
    await putEvents(store, many(1));
    await expect(rowsOf("SELECT * FROM read_csv('/etc/passwd')")).rejects.toMatchObject({
      code: "source_query_refused",
    });
  });
});

describe("the copies", () => {
  test("only new files are fetched, and those that are gone are removed", async () => {
    const [key] = [await putEvents(store, many(2)), await putEvents(store, many(3), { first: 3 })];
    await fetched();
    const before = await readdir(directory);
    await putEvents(store, many(1), { first: 6 });
    await store.delete(key);
    const got: string[] = [];
    const get: ObjectStore["get"] = (name) => {
      got.push(name);
      return store.get(name);
    };
    await fetched({ store: { ...store, get } });
    const files = got.filter((objectKey) => objectKey !== oldMergesKey("acme"));
    expect(files).toEqual([expect.stringContaining("000000000000006-000000000000006")]);
    const after = await readdir(directory);
    expect([before.length, after.length, before.filter((name) => after.includes(name)).length]).toEqual([2, 2, 1]);
  });

  test("a file that upkeep has rewritten is fetched again", async () => {
    const key = await putEvents(store, many(2));
    await fetched();
    const found = (await store.get(key))!;
    const [line] = gunzipSync(found.bytes).toString().split("\n");
    storeMs++;
    await store.swap(key, gzipSync(`${line}\n`), found.etag);
    expect(await rowsOf("SELECT event_id FROM events")).toEqual([{ event_id: "e1" }]);
  });

  test("a sample has the newest files", async () => {
    await putEvents(store, many(50));
    storeMs++;
    await putEvents(store, many(2), { first: 51 });
    const { files, marks } = await fetched({ bytesMax: 300 });
    expect([files.length, marks]).toEqual([1, { "0-0": 52 }]);
  });

  test("a file that disappears after the list was read is a failure that may pass", async () => {
    const key = await putEvents(store, many(2));
    const without = { ...store, get: async () => undefined };
    await expect(fetched({ store: without })).rejects.toMatchObject({
      code: "event_files_changed",
      retryable: true,
      message: expect.stringContaining(key),
    });
  });

  test.each<[string, (bytes: Uint8Array) => Uint8Array]>([
    ["is cut off", (bytes) => bytes.subarray(0, bytes.length - 10)],
    ["is no gzip", () => Buffer.from("events")],
    ["has a line that is no event", () => gzipSync('{"user_id": "u"\n')],
    ["has a time of another kind", () => gzipSync('{"user_id":"u","item_id":"i","type":"view","created_at":"noon"}\n')],
  ])("a file that %s is a failure that names it", async (_, damage) => {
    await putEvents(store, many(2));
    const key = await putEvents(store, many(50), { first: 3 });
    const found = (await store.get(key))!;
    await store.swap(key, damage(found.bytes), found.etag);
    const error = await rowsOf().catch((failure) => failure);
    expect(error).toMatchObject({ code: "event_file_damaged", retryable: true, stage: "fetching" });
    expect(error.message).toContain("000000000000003-000000000000052");
    expect(error.message).not.toContain(root);
  });
});

const many = (count: number): GivenEvent[] =>
  Array.from({ length: count }, (_, i) => ({ user: `u${i}`, item: `i${i}` }));
