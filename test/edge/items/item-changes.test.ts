/** How the object with changed items writes the files that edges read, also when it ends at any moment. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ChangeTables } from "../../../edge/items/change-tables.ts";
import type { NewChange } from "../../../edge/items/item-changes-rpc.ts";
import { storeWithin } from "../../../edge/items/store-changes.ts";
import type { ItemId } from "../../../shared/ids.ts";
import { CHANGED_ITEMS_MAX, changesHeadKey } from "../../../shared/items/changes-file.ts";
import { MODEL, startItemsWorld, type WriteFault } from "../../fixtures/items-world.ts";

const HEAD = changesHeadKey("acme", "shop");
const MINUTE_MS = 60_000;
let nowMs: number;
let world: ReturnType<typeof startItemsWorld>;
beforeEach(() => {
  nowMs = 1_800_000_000_000;
  vi.spyOn(Date, "now").mockImplementation(() => nowMs);
  world = startItemsWorld(() => nowMs);
});
afterEach(() => {
  vi.restoreAllMocks();
  world.stop();
});

const price = (id: string, value: number | null, at = nowMs): NewChange => ({
  id: id as ItemId,
  attributes: { price: value },
  at,
});
const hide = (id: string, hidden = true): NewChange => ({ id: id as ItemId, hidden, at: nowMs });
const withdraw = (id: string): NewChange => ({ id: id as ItemId, attributes: null, at: nowMs });
const prices = (from: number, count: number) => Array.from({ length: count }, (_, i) => price(`i${from + i}`, 1));
/** The usual changes of a shop. */
const offers = (from: number, count: number) =>
  prices(from, count).map((change) => ({ ...change, attributes: { price: 19.9, in_stock: true } }));
const sorted = (ids: Pick<ReadonlySet<string>, "keys">) => [...ids.keys()].sort().join();
/** A call two seconds later, which does not have to wait for the bucket's pace. */
const change = (changes: readonly NewChange[]) => {
  nowMs += 2000;
  return world.object().change(MODEL, changes);
};

test("the head has all changes before the answer, as whole states of items", async () => {
  const at = nowMs / 1000;
  expect(await change([price("a", 5), hide("b")])).toEqual({ changed: 2, ignored: 0, added: 0 });
  await change([hide("a")]);
  expect(Object.fromEntries(world.seen())).toEqual({
    a: { hidden: true, values: { price: { value: 5, at } } },
    b: { hidden: true, values: {} },
  });
  await change([hide("b", false), withdraw("a")]);
  expect(Object.fromEntries(world.seen())).toEqual({ a: { hidden: true, values: {} } });
});

test("a head of more than 1000 items becomes a base, which is written first, and an item of the base can be withdrawn", async () => {
  await change(prices(0, 1000));
  expect([world.headSize(), world.bases().length]).toEqual([1000, 0]);
  await change([price("z", 2)]);
  expect([world.headSize(), world.bases().length, world.seen().size]).toEqual([0, 1, 1001]);
  expect(world.writes.slice(-2)).toEqual([world.bases()[0], HEAD]);
  await change([withdraw("i7"), price("i8", null)]);
  expect([world.headSize(), world.bases().length, world.seen().size]).toEqual([2, 1, 1000]);
  expect(world.seen().get("i8")!.values.price!.value).toBeNull();
  await change(prices(2000, 1000));
  expect([world.headSize(), world.seen().size]).toEqual([0, 2000]);
});

test("a head of few large items becomes a base too", async () => {
  const texts = Array.from({ length: 400 }, (_, i) => ({
    id: `i${i}` as ItemId,
    attributes: Object.fromEntries(["a", "b", "c"].map((name) => [name, `${name}${i}`.padEnd(1000, "é")])),
    at: nowMs,
  }));
  await change(texts);
  expect([world.headSize(), world.bases().length, world.seen().size]).toEqual([0, 1, 400]);
});

test("a replaced base stays for a while, and is then deleted", async () => {
  await change(prices(0, 1000));
  await change([price("z", 2)]);
  const [first] = world.bases();
  await change(prices(2000, 1001));
  nowMs += 50 * MINUTE_MS;
  await world.alarm();
  expect(world.bases()).toHaveLength(2);
  nowMs = world.alarmMs()!;
  await world.alarm();
  expect(world.bases()).toHaveLength(1);
  expect(world.bases()).not.toContain(first);
  expect(world.seen().size).toBe(2002);
});

test.each<WriteFault>(["error", "crash before", "crash after"])(
  "with a bucket's %s at any write, edges see a past state, and after the alarm the present one",
  async (fault) => {
    for (let at = 0; at < 7; at++) {
      world.stop();
      world = startItemsWorld(() => nowMs);
      world.setFault((write) => (write === at ? fault : "none"));
      const states = [new Set<string>()]; // ids with a price after each call
      const batches = [prices(0, 999), [price("y", 1), price("z", 1)], prices(2000, 1001), [withdraw("z")]];
      for (const batch of batches) {
        nowMs += 2000;
        await world.survive((object) => object.change(MODEL, batch));
        const ids = new Set(states.at(-1));
        for (const { id, attributes } of batch) attributes === null ? ids.delete(id) : ids.add(id);
        states.push(ids);
        const seen = sorted(world.seen());
        expect(states.some((ids) => sorted(ids) === seen)).toBe(true);
      }
      world.setFault(() => "none");
      expect(world.alarmMs()).not.toBeNull();
      nowMs += 2000;
      await world.alarm();
      expect([at, sorted(world.seen()) === sorted(states.at(-1)!)]).toEqual([at, true]);
      nowMs += 61 * MINUTE_MS;
      await world.alarm();
      expect(world.bases().length).toBeLessThanOrEqual(1); // a base that no head named is deleted too
    }
  },
);

const added = (from: number, count: number) => prices(from, count).map((one) => ({ ...one, isNew: true }));
const newIds = () => [...world.seen()].filter(([, { newAt }]) => newAt !== undefined).map(([id]) => id);

test("new items are in the head and in the base, also after a crash at any write, and none without attributes is stored", async () => {
  for (let at = 0; at < 4; at++) {
    world.stop();
    world = startItemsWorld(() => nowMs);
    world.setFault((write) => (write === at ? "crash before" : "none"));
    for (const batch of [added(0, 2), prices(10, 999), [...added(2, 1), { ...hide("i1"), isNew: true }]]) {
      nowMs += 2000;
      await world.survive((object) => object.change(MODEL, batch));
    }
    world.setFault(() => "none");
    nowMs += 2000;
    await world.alarm();
    expect([at, newIds().sort()]).toEqual([at, ["i0", "i1", "i2"]]);
    const refused = [...added(3, 1), { ...hide("x"), isNew: true }, { ...withdraw("y"), isNew: true }];
    expect(await change(refused)).toEqual({ unknown: [1, 2] });
    expect(newIds()).toHaveLength(3);
  }
});

test("items that are not new any more keep their values, and make room for others", async () => {
  for (let from = 0; from < 10_000; from += 1000) await change(added(from, 1000));
  expect(await change(added(10_000, 1))).toEqual({ full: "new" });
  expect((await world.object().newIds(MODEL)).length).toBe(10_000);
  await world.object().settle(MODEL, ["i5", "i6", "none"] as ItemId[]);
  expect(await change(added(10_000, 2))).toEqual({ changed: 2, ignored: 0, added: 2 });
  expect([newIds().includes("i5"), newIds().length, world.seen().size]).toEqual([false, 10_000, 10_002]);
  expect(await change(added(20_000, 1))).toEqual({ full: "new" });
});

test("the changes of a deleted model are forgotten, by the alarm or by its successor's first change", async () => {
  await change([hide("a")]);
  world.objects.clear();
  world.publish("v9");
  expect(await world.object().list({ ...MODEL, mark: "v9" }, "", 9)).toEqual([]);
  await expect(world.object().change({ ...MODEL, mark: "v5" }, [hide("x")])).rejects.toThrow("deleted or replaced");
  nowMs += 2000;
  await world.object().change({ ...MODEL, mark: "v9" }, [hide("b")]);
  expect([...world.seen().keys()]).toEqual(["b"]);
  world.objects.clear();
  await world.alarm();
  expect(world.objects.size).toBe(0);
  expect(await world.object().view({ ...MODEL, mark: "v9" }, "b" as ItemId)).toBeNull();
});

test("200,000 items can be changed, and the next one only after others are withdrawn or overtaken", async () => {
  const tables = new ChangeTables(world.sql);
  await change([hide("h")]); // gives the object its model
  const store = (changes: readonly NewChange[], changesFrom = 0) =>
    storeWithin(world.transaction, tables, { changesFrom }, changes);
  for (let from = 0; from < CHANGED_ITEMS_MAX; from += 1000) store(offers(from, from === 199_000 ? 999 : 1000));
  expect(store([price("x", 1), price("i0", 5)])).toEqual({ full: "items" });
  expect(tables.stateOf("i0" as ItemId)!.values.price!.value).toBe(19.9); // nothing of the call was stored
  expect(store([withdraw("i0"), price("x", 1)])).toEqual({ changed: 2, ignored: 0, added: 0 });
  nowMs += 2000;
  await world.alarm();
  expect(world.seen().size).toBe(CHANGED_ITEMS_MAX);
  nowMs += 5000;
  expect(store([price("y", 1)], nowMs / 1000 - 1)).toEqual({ changed: 1, ignored: 0, added: 0 });
  await world.alarm();
  expect([...world.seen().keys()].sort()).toEqual(["h", "y"]); // hidden items stay hidden
});

test("a model's changes name at most 400 attributes", async () => {
  const named = (from: number, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${from + i}`, 1]));
  const changeOf = (attributes: Record<string, number>) => ({ id: "a" as ItemId, attributes, at: nowMs });
  expect(await change([changeOf(named(0, 400))])).toMatchObject({ changed: 1 });
  expect(await change([changeOf(named(400, 1))])).toEqual({ full: "attributes" });
});
