import { setTimeout } from "node:timers/promises";
import { BIGINT } from "@duckdb/node-api";
import { tableFromArrays, tableToIPC } from "apache-arrow";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type StorageOptions,
  type StorageSession,
  storageRows,
} from "../../../../../trainer/read/connectors/bigquery/storage-rows.ts";
import { type BigQueryWorld, bigqueryWorld } from "../../../../fixtures/bigquery-world.ts";
import { type FakeBreak, type FakeStorage, startFakeStorage } from "../../../../fixtures/fake-bigquery-storage.ts";

const never = new AbortController().signal;
const ROWS = 24_000; // above what is read over REST
let world: BigQueryWorld;
let storage: FakeStorage;

beforeAll(async () => {
  world = await bigqueryWorld();
  storage = await startFakeStorage(world.fake);
  await world.fake.engine.execute(
    `CREATE TABLE shop.many AS SELECT i AS id, 'name ' || i AS name, i / 4.0 AS price, i % 2 = 0 AS good,
       TIMESTAMPTZ '2024-02-29 12:00:00.5+00' + to_seconds(i) AS at, DATE '1969-12-31' + CAST(i % 3 AS INTEGER) AS day,
       CASE WHEN i % 5 = 0 THEN NULL ELSE ['a', CAST(i AS VARCHAR)] END AS words, CASE WHEN i % 7 = 0 THEN NULL ELSE i END AS sometimes
     FROM range(${ROWS}) AS r(i)`,
  );
});
afterAll(async () => {
  await storage.stop();
  await world.stop();
});

type RowsOptions = { timeoutSeconds?: number; silenceSeconds?: number; columns?: string };

async function rowsOf(endpoint: string | null, { columns = "id", ...limits }: RowsOptions = {}) {
  const connector = await world.open({ bigqueryStorageEndpoint: endpoint, ...limits });
  const source = await connector.read(`SELECT ${columns} FROM \`acme-data.shop.many\``, { signal: never });
  const rows: string[] = [];
  for await (const chunk of source.chunks) for (const row of chunk.getRows()) rows.push(row.map(String).join(" | "));
  await connector.close();
  return rows;
}
const byId = (a: string, b: string) => Number.parseInt(a, 10) - Number.parseInt(b, 10);

test("Arrow streams give the same values as REST pages", async () => {
  const arrow = await rowsOf(storage.endpoint, { columns: "*" });
  expect(storage.offsets).toEqual([0, 0, 0]);
  storage.refuse = true;
  const rest = await rowsOf(storage.endpoint, { columns: "*" });
  storage.refuse = false;
  expect(arrow.length).toBe(ROWS);
  // An empty list stands for a missing one in REST: BigQuery has no null arrays in results.
  const plain = (rows: string[]) => rows.map((row) => row.replace("| [] |", "| null |")).sort(byId);
  expect(plain(arrow)).toEqual(plain(rest));
});

test("a broken stream continues at its row; no row is lost or repeated", async () => {
  storage.offsets.length = 0;
  storage.breaks.push(1400, 700);
  const rows = await rowsOf(storage.endpoint);
  expect(new Set(rows).size).toBe(ROWS);
  expect(rows.length).toBe(ROWS);
  expect(storage.offsets.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 700, 1400]);
});

test.each([
  ["INTERNAL", 13],
  ["ABORTED", 10],
  ["DEADLINE_EXCEEDED", 4],
  ["CANCELLED", 1],
])("a stream that breaks with %s continues too", async (_, status) => {
  storage.offsets.length = 0;
  storage.breaks.push({ after: 700, status });
  const rows = await rowsOf(storage.endpoint);
  expect([new Set(rows).size, rows.length]).toEqual([ROWS, ROWS]);
  expect(storage.offsets.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 700]);
});

test("a stream that stalls after some rows ends at the deadline", async () => {
  storage.breaks.push({ after: 700, status: "stalls" });
  await expect(rowsOf(storage.endpoint, { timeoutSeconds: 1 })).rejects.toMatchObject({
    code: "source_timeout",
    retryable: false,
  });
});

test("a stream that stalls for longer than a source may be silent ends", async () => {
  storage.breaks.push({ after: 700, status: "stalls" });
  const reading = rowsOf(storage.endpoint, { silenceSeconds: 1 });
  await expect(reading).rejects.toMatchObject({ code: "source_silent", retryable: true });
});

test("a stream that stalls before its first row ends at the deadline", async () => {
  storage.breaks.push(...Array<FakeBreak>(3).fill({ after: 0, status: "stalls" }));
  await expect(rowsOf(storage.endpoint, { timeoutSeconds: 2 })).rejects.toMatchObject({
    code: "source_timeout",
    retryable: false,
  });
  storage.breaks.length = 0; // on a busy machine the time was over before the streams began
});

test("a stream that breaks before its first row is opened again", async () => {
  storage.offsets.length = 0;
  storage.breaks.push(0, 0, 0, 0);
  const rows = await rowsOf(storage.endpoint);
  expect([new Set(rows).size, rows.length]).toEqual([ROWS, ROWS]);
  expect(storage.offsets).toEqual([0, 0, 0, 0, 0, 0, 0]);
});

test("a stopped reading throws the reason", async () => {
  const connector = await world.open({ bigqueryStorageEndpoint: storage.endpoint });
  const controller = new AbortController();
  const reason = new Error("stop now");
  const source = await connector.read("SELECT id FROM `acme-data.shop.many`", { signal: controller.signal });
  const reading = (async () => {
    for await (const _ of source.chunks) controller.abort(reason);
  })();
  await expect(reading).rejects.toBe(reason);
  await connector.close();
});

test("a reading that is stopped during the pause before a retry throws the reason", async () => {
  const stopped = new AbortController();
  let streams = 0;
  const readRows = () => {
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = () => reject(new Error("cancelled"));
    if (streams++ === 0) setTimeout(10).then(() => reject(Object.assign(new Error("reset"), { code: 14 })));
    if (streams === 1) setTimeout(50).then(() => stopped.abort(new Error("stop now")));
    const responses = { [Symbol.asyncIterator]: () => ({ next: () => promise }) };
    return Object.assign(responses, { cancel, destroy: () => undefined });
  };
  const client = { readRows, close: async () => undefined };
  const session = { client, arrowSchema: new Uint8Array(), streams: ["one"], headers: {} } as unknown as StorageSession;
  const reading = Array.fromAsync(
    storageRows(session, [], { party: {}, silenceSeconds: 60 } as StorageOptions, stopped.signal),
  );
  await expect(reading).rejects.toThrow("stop now");
});

test("a stream that fails while the consumer works fails the reading and does not crash the process", async () => {
  const batch = { serializedRecordBatch: tableToIPC(tableFromArrays({ id: [1n, 2n] })) };
  async function* responses() {
    yield { arrowRecordBatch: batch, rowCount: 2 };
    throw new Error("bytesBilledLimitExceeded: enough");
  }
  const client = {
    readRows: () => Object.assign(responses(), { cancel: () => undefined, destroy: () => undefined }),
    close: async () => undefined,
  };
  const session = { client, arrowSchema: new Uint8Array(), streams: ["one"], headers: {} } as unknown as StorageSession;
  const column = { name: "id", type: BIGINT, sql: "id", read: String };
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const reading = (async () => {
    for await (const _ of storageRows(session, [column], { party: {}, silenceSeconds: 60 } as StorageOptions, never))
      await setTimeout(50);
  })();
  await expect(reading).rejects.toMatchObject({ name: "StageError", code: "bytes_limit_exceeded" });
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});
