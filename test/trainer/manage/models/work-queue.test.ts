import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorkQueues, type WorkQueues } from "../../../../trainer/manage/models/work-queue.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

let database: Database;
let queues: WorkQueues;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
  queues = await startWorkQueues({ database, heartbeatSeconds: 30, log: () => {} });
});
afterAll(async () => {
  await queues.stop(1);
  await database.close();
});

type Work = { readonly n: number };

test("one job per model at a time, queued or worked on", async () => {
  const queue = await queues.open<Work>("one-at-a-time");
  expect([await queue.enqueue("acme/shop", { n: 1 }), await queue.enqueue("acme/shop", { n: 2 })]).toEqual([
    true,
    false,
  ]);
  expect(await queue.enqueue("acme/other", { n: 3 })).toBe(true);
  const taken: number[] = [];
  let finish = () => {};
  const bothTaken = new Promise<void>((resolve) => {
    void queue.take(2, async ({ n }) => {
      taken.push(n);
      if (taken.length === 2) resolve();
      await new Promise<void>((done) => (finish = done));
    });
  });
  queue.wake();
  await bothTaken;
  expect(taken.sort()).toEqual([1, 3]);
  expect(await queue.enqueue("acme/shop", { n: 4 })).toBe(false);
  finish();
});

test("a job made in a transaction that fails was never made", async () => {
  const queue = await queues.open<Work>("in-transaction");
  const failing = database.transaction(async (queries) => {
    expect(await queue.enqueue("acme/shop", { n: 1 }, queries)).toBe(true);
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(await queue.enqueue("acme/shop", { n: 2 })).toBe(true);
});

test("a handler that fails fails its job alone, and the next one is taken", async () => {
  const queue = await queues.open<Work>("failing");
  const taken: number[] = [];
  const done = new Promise<void>((resolve) => {
    void queue.take(1, async ({ n }) => {
      taken.push(n);
      if (n === 1) throw new Error("no");
      resolve();
    });
  });
  await queue.enqueue("acme/one", { n: 1 });
  await queue.enqueue("acme/two", { n: 2 });
  queue.wake();
  await done;
  expect(taken).toEqual([1, 2]);
});

test("after a pause nothing is taken", async () => {
  const state = await openDatabase(null, await freshState());
  const own = await startWorkQueues({ database: state, heartbeatSeconds: 30, log: () => {} });
  const queue = await own.open<Work>("paused");
  const taken: number[] = [];
  await queue.take(1, async ({ n }) => void taken.push(n));
  await own.pause();
  await queue.enqueue("acme/shop", { n: 1 });
  queue.wake();
  await own.stop(1);
  expect(taken).toEqual([]);
  // The next start of the only trainer forgets what a dead one left; rows say what is to be done.
  const next = await startWorkQueues({ database: state, heartbeatSeconds: 30, log: () => {} });
  expect(await (await next.open<Work>("paused")).enqueue("acme/shop", { n: 2 })).toBe(true);
  await next.stop(1);
  await state.close();
});
