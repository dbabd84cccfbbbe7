/** Users of experiments in a shard, in Node: goals that arrive late, twice or for erased users, and the counts in the bucket. */
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ExposureCounts, exposureCountsKey } from "../../../shared/experiment/counts.ts";
import type { ItemId, UserId } from "../../../shared/ids.ts";
import { PLACE, startShardWorld } from "../../fixtures/shard-world.ts";

const NOON = Date.parse("2026-11-24T12:00:00Z");
const HOUR_MS = 3_600_000;
const GOAL = { type: "purchase", within_hours: 24 };
const LASTING = { salt: "lasting", goal: GOAL, guard: null };
const ENDING = { salt: "ending", goal: GOAL, guard: null, endsMs: NOON + 24 * HOUR_MS, stepMs: HOUR_MS };
const KEY = exposureCountsKey(PLACE.customer, "ending", PLACE.shard);

let world: ReturnType<typeof startShardWorld>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOON });
  world = startShardWorld();
});
afterEach(() => {
  vi.useRealTimers();
  world.stop();
});

const expose = (user: string, experiment: typeof LASTING | typeof ENDING = LASTING, arm = "a") => {
  const exposure = { user: user as UserId, arm, revision: 0, at: Date.now(), reached: false, guarded: false };
  return world.shard().expose(PLACE, experiment, exposure);
};
let ids = 0;
/** Sends a purchase that happened some hours after noon. */
const buy = (user: string, hours: number, event_id = `e${++ids}`) => {
  const created_at = (NOON + hours * HOUR_MS) / 1000;
  const event = { event_id, item_id: "i1" as ItemId, type: "purchase", created_at, value: null, rank_id: null };
  return world.shard().append(PLACE, [{ user: user as UserId, events: [event] }]);
};
const after = (hours: number) => vi.setSystemTime(NOON + hours * HOUR_MS);
const reached = async (salt = "lasting") =>
  (await world.shard().exposures(salt, HOUR_MS)).reduce((sum, count) => sum + count.reached, 0);
const inBucket = () => {
  const bytes = world.objects.get(KEY);
  const counts = bytes && ExposureCounts.parse(JSON.parse(new TextDecoder().decode(bytes))).counts;
  return counts?.map(({ arm, exposed, reached }) => [arm, exposed, reached]);
};

test("a goal that arrives a day late counts by its own time, and a repeated one once", async () => {
  for (const user of ["in-time", "too-late", "before"]) await expose(user);
  after(48);
  await buy("too-late", 25);
  await buy("before", -1);
  expect(await reached()).toBe(0);
  await buy("in-time", 23, "same");
  await buy("in-time", 23, "same");
  expect(await reached()).toBe(1);
});

test("an erased user counts no more, nor do lists and goals that arrive within the next hour", async () => {
  await expose("gone");
  await buy("gone", 0);
  await world.shard().erase(["gone" as UserId]);
  await expose("gone");
  await buy("gone", 0.5);
  expect(await world.shard().exposures("lasting", HOUR_MS)).toEqual([]);
});

test("the counts of an experiment that ends by itself are written, also to a shard without events", async () => {
  await expose("ann", ENDING);
  await expose("ben", ENDING, "b");
  await expose("cat");
  await world.alarm();
  expect(inBucket()).toEqual([
    ["a", 1, 0],
    ["b", 1, 0],
  ]);
  expect([...world.objects.keys()]).toEqual([KEY]); // nobody waits for those of the lasting one
  await buy("ann", 0);
  await world.alarm(); // too early for another look
  expect(inBucket()![0]).toEqual(["a", 1, 0]);
  after(0.2);
  await world.alarm();
  expect(inBucket()![0]).toEqual(["a", 1, 1]);
});

test("when no event can change the counts any more, the users go; two months later, the counts", async () => {
  await expose("ann", ENDING);
  after(24 + 24 + 23);
  await buy("ann", 23);
  await world.alarm();
  after(24 + 24 + 25);
  await expose("ben"); // any other call
  await buy("ben", 73);
  await world.alarm();
  expect(inBucket()).toEqual([["a", 1, 1]]);
  expect(await world.shard().exposures("ending", HOUR_MS)).toEqual([]);
  await buy("ann", 23.5);
  after(24 * 62);
  await world.alarm();
  expect(world.objects.has(KEY)).toBe(false);
  expect(await reached()).toBe(1);
});

test("a bucket that fails loses no count", async () => {
  await expose("ann", ENDING);
  await world.alarm("error");
  expect(inBucket()).toBeUndefined();
  await world.alarm();
  expect(inBucket()).toEqual([["a", 1, 0]]);
  await expose("ben", ENDING);
  after(1);
  await world.alarm("crash after");
  await world.alarm();
  expect(inBucket()).toEqual([["a", 2, 0]]);
});

test("users are counted by how many of their events had arrived before their first list", async () => {
  for (let i = 0; i < 4; i++) await buy("active", -1 - i);
  after(1);
  for (const user of ["active", "quiet"]) await expose(user);
  await buy("quiet", 1);
  const moved = (await world.shard().takeExposure("lasting", "active" as UserId))!;
  expect(moved.activity).toBe(2);
  const other = startShardWorld();
  await other.shard().expose({ ...PLACE, shard: "1-0" }, LASTING, moved);
  expect(await other.shard().exposures("lasting", HOUR_MS)).toMatchObject([{ activity: 2, exposed: 1 }]);
  other.stop();
  expect(await world.shard().exposures("lasting", HOUR_MS)).toMatchObject([{ activity: 0, exposed: 1, reached: 1 }]);
});

test("a shard of the release before gets the column for the activity", async () => {
  const database = new DatabaseSync(":memory:");
  database.exec(
    `CREATE TABLE exposures (salt TEXT, user TEXT, arm TEXT NOT NULL, revision INTEGER NOT NULL, at INTEGER NOT NULL,
       reached INTEGER NOT NULL, guarded INTEGER NOT NULL, PRIMARY KEY (salt, user)) WITHOUT ROWID;
     INSERT INTO exposures VALUES ('lasting', 'old', 'a', 0, 1, 0, 0)`,
  );
  const old = startShardWorld(database);
  expect(await old.shard().exposures("lasting", HOUR_MS)).toMatchObject([{ activity: 0, exposed: 1 }]);
  old.restart();
  expect((await old.shard().takeExposure("lasting", "old" as UserId))!.activity).toBe(0);
  old.stop();
});
