import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { BatchBody } from "../../../../shared/batch.ts";
import { type Batches, batches, CUSTOMER_BATCHES_MAX } from "../../../../trainer/manage/records/batches.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

const ACME = { customer: "acme", modelName: "shop" };
const GLOBEX = { customer: "globex", modelName: "shop" };
const BODY = BatchBody.parse({ limit: 5 });
const DONE = {
  state: "done",
  version: "v",
  rows: 10,
  users: 2,
  failure: null,
  files: [{ name: "0001.csv", bytes: 3 }],
} as const;

let database: Database;
let queue: Batches;
let other: Batches; // another trainer
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
  [queue, other] = [batches(database, "ours", 30), batches(database, "theirs", 30)];
});
afterAll(() => database.close());
beforeEach(() => database.query("delete from shortlist.batches"));

const ids = async () => (await queue.waiting(10, 2)).map(({ runId }) => runId);

test("a batch is worked on once, keeps its progress, and ends with its result", async () => {
  const id = (await queue.create(ACME, BODY))!;
  expect(await queue.find(ACME, id)).toMatchObject({ state: "running", progress: null, files: [], ended_at: null });
  expect(await queue.find(GLOBEX, id)).toBeUndefined();
  const claim = (await queue.claim(id))!;
  expect(claim).toEqual({ batchId: id, attempt: 1, body: BODY });
  expect([await other.claim(id), await ids()]).toEqual([undefined, []]);
  expect(await queue.renew(claim, { fraction: 0.5, detail: "half" })).toBe(true);
  expect((await queue.find(ACME, id))!.progress).toEqual({ fraction: 0.5, detail: "half" });
  expect(await queue.finish(claim, DONE)).toBe(true);
  expect(await queue.find(ACME, id)).toMatchObject({ ...DONE, ended_at: expect.any(String) });
  expect(await ids()).toEqual([]);
});

test("after the death of its trainer, another one begins the batch again, and the first cannot end it", async () => {
  const id = (await queue.create(ACME, BODY))!;
  const first = (await queue.claim(id))!;
  await database.query("update shortlist.batches set seen_at = now() - interval '1 minute'");
  const second = (await other.claim(id))!;
  expect(second.attempt).toBe(2);
  expect([await queue.renew(first, null), await queue.finish(first, DONE)]).toEqual([false, false]);
  await other.releaseAll(); // as a trainer that starts alone does
  expect(await ids()).toEqual([id]);
  await queue.release((await queue.claim(id))!, 60);
  expect(await ids()).toEqual([]); // it waits for its next attempt
});

test("a stopped batch ends for the trainer that works on it, and stays stopped", async () => {
  const id = (await queue.create(ACME, BODY))!;
  const claim = (await queue.claim(id))!;
  await other.stop(id);
  expect([await queue.renew(claim, null), await queue.finish(claim, DONE)]).toEqual([false, false]);
  expect(await queue.find(ACME, id)).toMatchObject({ state: "stopped", files: [] });
  await queue.create(ACME, BODY);
  await queue.stopAll(ACME);
  expect(await ids()).toEqual([]);
});

test("customers take turns, and one has a limited number", async () => {
  const own: string[] = [];
  for (let i = 0; i < CUSTOMER_BATCHES_MAX; i++) {
    own.push((await queue.create(ACME, BODY))!);
    // The database's clock may stand still for a millisecond.
    await database.query("update shortlist.batches set created_at = created_at - interval '1 second'");
  }
  expect(await queue.create(ACME, BODY)).toBeUndefined();
  const theirs = (await queue.create(GLOBEX, BODY))!;
  await queue.claim(own[0]!);
  expect(await ids()).toEqual([theirs, own[1]]); // two of a customer at most
});

test("files end a day after the batch, and the record a week later", async () => {
  const id = (await queue.create(ACME, BODY))!;
  await queue.finish((await queue.claim(id))!, DONE);
  expect(await queue.withOldFiles(10)).toEqual([]);
  await database.query("update shortlist.batches set ended_at = now() - interval '25 hours'");
  expect(await queue.withOldFiles(10)).toEqual([{ runId: id, ...ACME }]);
  await queue.noteDeleted(id);
  expect(await queue.withOldFiles(10)).toEqual([]);
  await queue.forgetOld();
  expect(await queue.find(ACME, id)).toBeDefined();
  await database.query("update shortlist.batches set files_deleted = now() - interval '8 days'");
  await queue.forgetOld();
  expect(await queue.find(ACME, id)).toBeUndefined();
});
