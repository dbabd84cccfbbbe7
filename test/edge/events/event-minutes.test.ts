/** Counting a shard's events by minute, in Node. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { minuteOf } from "../../../edge/live/counts.ts";
import type { ItemId, UserId } from "../../../shared/ids.ts";
import { PLACE, startShardWorld } from "../../fixtures/shard-world.ts";

const NOON = Date.parse("2026-11-24T12:00:00Z");
const HOUR = minuteOf(NOON) - 59;

let world: ReturnType<typeof startShardWorld>;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOON });
  world = startShardWorld();
});
afterEach(() => {
  vi.useRealTimers();
  world.stop();
});

/** Stores an event of each of so many users, in one call. */
const append = (users: number, atMs: number, type = "view") => {
  vi.setSystemTime(atMs);
  const event = { item_id: "i1" as ItemId, type, created_at: atMs / 1000, value: null, rank_id: null };
  const batch = Array.from({ length: users }, (_, user) => ({
    user: `u${user}` as UserId,
    events: [{ ...event, event_id: `${atMs}-${type}` }],
  }));
  return world.shard().append(PLACE, batch);
};
const counts = async (fromMinute: number) => {
  const { minutes, uncountedMs } = await world.shard().liveCounts(fromMinute);
  return { minutes: Object.fromEntries(minutes.map(({ minute, events }) => [minute - HOUR, events])), uncountedMs };
};

test("events are counted in the minute of their arrival, also after a restart, and for an hour", async () => {
  await append(3, NOON - 61 * 60_000);
  await append(2, NOON - 5 * 60_000);
  await append(1, NOON, "purchase");
  const expected = { minutes: { 54: { view: 2 }, 59: { purchase: 1 } }, uncountedMs: 0 };
  expect(await counts(HOUR)).toEqual(expected);
  world.restart();
  expect(await counts(HOUR)).toEqual(expected);
  await append(1, NOON + 60_000);
  expect((await counts(HOUR + 55)).minutes).toEqual({ 59: { purchase: 1 }, 60: { view: 1 } });
});

test("of more rows than are counted at once, the newest are counted, and the answer says from when on", async () => {
  await append(30_000, NOON - 2 * 60_000);
  await append(30_000, NOON - 60_000);
  expect(await counts(HOUR)).toEqual({
    minutes: { 57: { view: 20_000 }, 58: { view: 30_000 } },
    uncountedMs: NOON - 2 * 60_000,
  });
  await append(10, NOON);
  expect((await counts(HOUR)).minutes).toMatchObject({ 58: { view: 30_000 }, 59: { view: 10 } });
});
