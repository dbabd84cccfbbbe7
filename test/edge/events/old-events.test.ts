/** What a shard keeps, and for how long: its real code on SQLite in Node. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { NewEvent } from "../../../edge/events/shard-rpc.ts";
import { learntMarksKey } from "../../../shared/events/event-store.ts";
import type { ItemId, UserId } from "../../../shared/ids.ts";
import { PLACE, startShardWorld } from "../../fixtures/shard-world.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const [ANN, BOB] = ["ann" as UserId, "bob" as UserId];

let world: ReturnType<typeof startShardWorld>;
let sentCount = 0;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  world = startShardWorld();
});
afterEach(() => {
  world.stop();
  vi.useRealTimers();
});

const wait = (ms: number) => vi.setSystemTime(Date.now() + ms);
const event = (item: number, more: Partial<NewEvent> = {}): NewEvent => ({
  event_id: `e${sentCount++}`,
  item_id: `i${item}` as ItemId,
  type: "view",
  created_at: Math.floor(Date.now() / 1000),
  value: null,
  rank_id: null,
  ...more,
});
const append = (user: UserId, events: readonly NewEvent[]) => world.shard().append(PLACE, [{ user, events }]);
const stored = (user: UserId) => world.shard().eventsOf([user], Infinity);
const learn = (seq: number) =>
  world.objects.set(learntMarksKey("acme"), new TextEncoder().encode(JSON.stringify({ [PLACE.shard]: seq })));

test("after a week without a trainer, a shard keeps the newest 200 of each type and the newest of each item", async () => {
  for (let batch = 0; batch < 60; batch++) {
    wait(1000);
    await append(
      ANN,
      Array.from({ length: 10 }, (_, i) => event(batch < 10 ? 10 * batch + i : i)),
    );
    await append(ANN, [event(1000 + batch, { type: "impression" })]);
  }
  await append(BOB, [event(1)]);
  const before = await stored(ANN);
  await world.alarm();
  expect((await stored(ANN)).length).toBe(660);
  wait(8 * DAY_MS + HOUR_MS);
  await world.alarm();
  const after = await stored(ANN);
  const views = before.filter(({ type }) => type === "view");
  const others = before.filter(({ type }) => type === "impression");
  const oldItems = views.slice(200).filter(({ item_id }) => Number(item_id.slice(1)) >= 10);
  expect(after.length).toBe(200 + 60 + 90);
  expect(new Set(after)).toEqual(new Set([...views.slice(0, 200), ...others, ...oldItems]));
  expect(world.rows()).toBe(2);
  expect(world.files().flatMap(({ events }) => events).length).toBe(661); // files have everything
});
test("many events are compacted into rows of a bounded size, each with the number of its last event", async () => {
  const users = [3, 4, 5, 6, 7, 8].map((rows) => ({ user: `u${rows}` as UserId, rows }));
  const long = (i: number) => event(i, { rank_id: "r".repeat(64) });
  for (const { user, rows } of users)
    for (let row = 0; row < rows; row++)
      await append(
        user,
        Array.from({ length: 500 }, (_, i) => long(1000 * row + i)),
      );
  const before = await Promise.all(users.map(({ user }) => stored(user)));
  await world.alarm();
  wait(8 * DAY_MS + HOUR_MS);
  await world.alarm();
  expect(await Promise.all(users.map(({ user }) => stored(user)))).toEqual(before);
  expect(world.rows()).toBeGreaterThan(users.length);
  expect(world.rows()).toBeLessThan(15);
  for (const seq of [0, 2, 3])
    expect((await world.shard().liveEvents([users[0]!.user], seq)).events.length).toBe(500 * (3 - seq));
  wait(DAY_MS);
  const changes = world.changes();
  await world.alarm();
  expect(world.changes()).toBe(changes + 1); // only the time of the upkeep
});
test("events that are old, exported and learnt are removed, others are not", async () => {
  await append(ANN, [event(1)]);
  await append(ANN, [event(2)]);
  await world.alarm();
  wait(8 * DAY_MS + HOUR_MS);
  await append(ANN, [event(3)]);
  learn(1);
  await world.alarm();
  expect((await stored(ANN)).map(({ item_id }) => item_id)).toEqual(["i3", "i2"]);
  learn(3);
  await world.alarm();
  expect((await stored(ANN)).length).toBe(2); // the next upkeep is six hours later
  wait(7 * HOUR_MS);
  await world.alarm();
  expect((await stored(ANN)).map(({ item_id }) => item_id)).toEqual(["i3"]);
});
test("what a bucket without answers delays is exported later, in files of a bounded size", async () => {
  vi.spyOn(console, "log").mockReturnValue();
  for (let i = 0; i < 12_000; i++) await append(`u${i}` as UserId, [event(1)]);
  await world.alarm("error");
  expect(world.alarmMs()).toBe(Date.now() + 1000);
  await world.alarm("error");
  expect(world.alarmMs()).toBe(Date.now() + 2000);
  for (let i = 0; i < 5; i++) await world.alarm("error");
  expect(world.alarmMs()).toBe(Date.now() + 60_000);
  await append(ANN, [event(1)]);
  expect(world.alarmMs()).toBe(Date.now() + 60_000);
  await world.alarm();
  expect(world.alarmMs()).toBe(Date.now());
  await world.alarm();
  expect(world.files().map(({ first, last, events }) => [first, last, events.length])).toEqual([
    [1, 10_000, 10_000],
    [10_001, 12_001, 2001],
  ]);
  vi.restoreAllMocks();
});
test("a file is due a minute after the first event, at once with 10,000 rows, and never while nothing happens", async () => {
  await append(ANN, [event(1)]);
  const first = Date.now();
  wait(30_000);
  await append(ANN, [event(2)]);
  expect(world.alarmMs()).toBe(first + 60_000);
  for (let i = 0; i < 10_000; i++) await append(`u${i}` as UserId, [event(1)]);
  expect(world.alarmMs()).toBe(Date.now());
});
test("late events of an erased user are dropped for an hour, and nothing of the user is left after it", async () => {
  await append(ANN, [event(1)]);
  await append(BOB, [event(1)]);
  await world.shard().erase([ANN]);
  expect(await append(ANN, [event(2), event(3)])).toEqual({ accepted: 2, duplicates: 0 });
  expect(await stored(ANN)).toEqual([]);
  await world.alarm();
  expect(world.files().flatMap(({ events }) => events.map(({ user_id }) => user_id))).toEqual([BOB]);
  expect(await append(ANN, [event(4)])).toEqual({ accepted: 1, duplicates: 0 });
  wait(HOUR_MS + 1000);
  await world.alarm();
  expect(await stored(ANN)).toEqual([]);
  await append(ANN, [event(5)]); // the edge knows by now that the user is erased, and sends none
  expect((await stored(ANN)).length).toBe(1);
});
test("a user with 10,000 events is refused without counting for a minute, and other users are stored", async () => {
  const many = Array.from({ length: 9999 }, () => event(1));
  await append(ANN, many);
  const both = [
    { user: ANN, events: [event(1), event(2)] },
    { user: BOB, events: [event(1)] },
  ];
  expect(await world.shard().append(PLACE, both)).toEqual({ full: [ANN] });
  expect(await stored(BOB)).toEqual([]);
  expect(await append(BOB, [event(1)])).toEqual({ accepted: 1, duplicates: 0 });
  expect(await append(ANN, [event(1)])).toEqual({ full: [ANN] });
  wait(61_000);
  expect(await append(ANN, [event(1), many[0]!])).toEqual({ accepted: 1, duplicates: 1 });
});
test("a clock that steps back neither loses events nor counts one twice", async () => {
  const sent = [event(1)];
  await append(ANN, sent);
  wait(-2 * DAY_MS);
  expect(await append(ANN, sent)).toEqual({ accepted: 0, duplicates: 1 });
  await append(ANN, [event(2)]);
  await world.alarm();
  learn(2);
  wait(3 * DAY_MS);
  await world.alarm();
  expect((await stored(ANN)).length).toBe(2);
});

describe("items are counted by their users", () => {
  const counts = async (types = ["view"], limit = 10) => {
    wait(1000);
    return (await world.shard().popularItems(types, limit)).map(({ item, users }) => `${item}: ${users}`);
  };

  test("of the given types, also after compaction and without erased users, at most once a second", async () => {
    await append(ANN, [event(1), event(1), event(2)]);
    await append(ANN, [event(1), event(3, { type: "skip" })]);
    await append(BOB, [event(2), event(3, { type: "buy" })]);
    expect(await counts()).toEqual(["i2: 2", "i1: 1"]);
    expect(await counts(["view", "buy"], 2)).toEqual(["i2: 2", "i1: 1"]);
    expect(await counts(["skip", "buy"])).toEqual(["i3: 2"]);
    expect(await counts(["other"])).toEqual([]);
    await world.alarm();
    wait(8 * DAY_MS + HOUR_MS);
    await world.alarm();
    expect(world.rows()).toBe(2);
    expect(await counts()).toEqual(["i2: 2", "i1: 1"]);
    await world.shard().erase([ANN]);
    expect((await world.shard().popularItems(["view"], 10)).length).toBe(2);
    expect(await counts()).toEqual(["i2: 1"]);
  });
  test("among the newest 20,000 events", async () => {
    await append(ANN, [event(1)]);
    await append(BOB, [event(2)]);
    const many = (item: number) => Array.from({ length: 9999 }, () => event(item));
    await append("u1" as UserId, many(3));
    await append("u2" as UserId, many(4));
    expect(await counts()).toEqual(["i1: 1", "i2: 1", "i3: 1", "i4: 1"]);
    await append("u3" as UserId, [event(3)]);
    expect(await counts()).toEqual(["i3: 2", "i2: 1", "i4: 1"]);
  });
});
