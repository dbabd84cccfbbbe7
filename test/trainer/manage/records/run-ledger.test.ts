import { afterAll, beforeAll, expect, test } from "vitest";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { modelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { type RunLedger, runLedger } from "../../../../trainer/manage/records/run-ledger.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

let database: Database;
let ours: RunLedger;
let theirs: RunLedger;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
  ours = runLedger(database, "ours", 30);
  theirs = runLedger(database, "theirs", 30);
});
afterAll(() => database.close());

let count = 0;
async function newRun(): Promise<string> {
  const runId = `run-${count++}`;
  await ours.create(database, { runId, customer: "acme", modelName: runId });
  return runId;
}
const expire = (runId: string) =>
  database.query("update shortlist.runs set seen_at = now() - interval '31 seconds' where run_id = $1", [runId]);
const waiting = async () => (await ours.waiting(1000, 1000)).map(({ runId }) => runId);

test("of several claims at once, one succeeds", async () => {
  const runId = await newRun();
  const claims = await Promise.all([ours.claim(runId), theirs.claim(runId), ours.claim(runId)]);
  expect(claims.filter((claim) => claim !== undefined)).toEqual([
    { runId, attempt: 1, crashes: 0, cancelled: false, ignored: [] },
  ]);
  expect(await ours.isLeased("acme", runId)).toBe(true);
  expect(await waiting()).not.toContain(runId);
});

test("what a run ignores is kept with it, over attempts", async () => {
  const run = { runId: `run-${count++}`, customer: "acme", modelName: "ignoring" };
  await ours.create(database, { ...run, ignored: ["source_shrunken"] });
  expect(await ours.claim(run.runId)).toMatchObject({ ignored: ["source_shrunken"] });
  await expire(run.runId);
  expect(await theirs.claim(run.runId)).toMatchObject({ attempt: 2, ignored: ["source_shrunken"] });
});

test("a trainer that does not renew its lease loses the run, and its calls have no effect", async () => {
  const runId = await newRun();
  const lost = (await ours.claim(runId))!;
  await expire(runId);
  expect(await waiting()).toContain(runId);
  expect(await ours.isLeased("acme", runId)).toBe(false);
  expect(await theirs.claim(runId)).toMatchObject({ attempt: 2, crashes: 1 });
  expect(await ours.renew(lost)).toBe("lost");
  await ours.finish(lost);
  await ours.release(lost, { delaySeconds: 0, forgiven: true });
  expect(await theirs.renew({ runId, attempt: 2 })).toBe("owned");
});

test("a trainer that renews its lease before another claims the run keeps it", async () => {
  const runId = await newRun();
  const claim = (await ours.claim(runId))!;
  await expire(runId);
  expect(await ours.renew(claim)).toBe("owned");
  expect(await theirs.claim(runId)).toBe(undefined);
});

test("a released run waits as long as it should, and counts attempts that were not forgiven", async () => {
  const runId = await newRun();
  await ours.release((await ours.claim(runId))!, { delaySeconds: 0, forgiven: true });
  expect(await waiting()).toContain(runId);
  const second = (await theirs.claim(runId))!;
  expect(second).toMatchObject({ attempt: 2, crashes: 0 });
  await theirs.release(second, { delaySeconds: 60, forgiven: false });
  expect(await waiting()).not.toContain(runId);
  expect(await ours.claim(runId)).toBe(undefined);
  await ours.hasten(runId, database);
  expect(await ours.claim(runId)).toMatchObject({ attempt: 3, crashes: 1 });
});

test("only a run that waits for a retry can be hastened", async () => {
  const runId = await newRun();
  expect(await ours.hasten(runId, database)).toBe(false);
  const claim = (await ours.claim(runId))!;
  expect(await ours.hasten(runId, database)).toBe(false);
  await ours.release(claim, { delaySeconds: 3600, forgiven: false });
  expect(await waiting()).not.toContain(runId);
  expect(await theirs.hasten(runId, database)).toBe(true);
  expect(await waiting()).toContain(runId);
  expect(await theirs.hasten(runId, database)).toBe(false);
  await ours.release((await ours.claim(runId))!, { delaySeconds: 3600, forgiven: false });
  await ours.cancel(runId);
  expect(await ours.hasten(runId, database)).toBe(false);
});

test("a finished run cannot be claimed or renewed", async () => {
  const runId = await newRun();
  const claim = (await ours.claim(runId))!;
  await ours.finish(claim);
  expect([await ours.claim(runId), await ours.renew(claim), await ours.isLeased("acme", runId)]).toEqual([
    undefined,
    "lost",
    false,
  ]);
  expect(await waiting()).not.toContain(runId);
});

test("cancelling ends a run without a trainer, and asks the trainer of a working one to end it", async () => {
  const idle = await newRun();
  expect(await ours.cancel(idle)).toBe(false);
  expect(await ours.claim(idle)).toBe(undefined);
  const held = await newRun();
  const claim = (await theirs.claim(held))!;
  expect(await ours.cancel(held)).toBe(true);
  expect(await theirs.renew(claim)).toBe("cancelled");
  const silent = await newRun();
  await theirs.claim(silent);
  await expire(silent);
  expect(await ours.cancel(silent)).toBe(false);
});

test("after releaseAll every unfinished run waits", async () => {
  const runId = await newRun();
  await ours.claim(runId);
  await ours.releaseAll();
  expect(await waiting()).toContain(runId);
  expect(await ours.claim(runId)).toMatchObject({ attempt: 2, crashes: 1 });
});

test("customers take turns, whoever waits longest first, and none has more runs at work than it may", async () => {
  await database.query("delete from shortlist.runs");
  const registry = modelRegistry(database, Date.now);
  const add = async (customer: string, runId: string) => {
    await registry.insert(database, { customer, spec: specOf(runId, "wait"), nextRunAt: null });
    await ours.create(database, { runId, customer, modelName: runId });
  };
  for (const runId of ["a1", "a2", "a3", "a4"]) await add("flood", runId);
  await add("late", "b1");
  await add("later", "c1");
  const order = async (perCustomer: number) => (await ours.waiting(100, perCustomer)).map(({ runId }) => runId);
  expect(await order(100)).toEqual(["a1", "b1", "c1", "a2", "a3", "a4"]);
  expect(await order(2)).toEqual(["a1", "b1", "c1", "a2"]);
  const claim = (await ours.claim("a1"))!;
  expect(await order(100)).toEqual(["b1", "c1", "a2", "a3", "a4"]);
  expect(await order(1)).toEqual(["b1", "c1"]);
  await registry.apply("flood", "a1", { kind: "scheduled", runId: "a1" });
  await registry.apply("flood", "a1", { kind: "started", runId: "a1", attempt: 1 });
  await ours.finish(claim);
  expect(await order(100)).toEqual(["b1", "c1", "a2", "a3", "a4"]);
});
