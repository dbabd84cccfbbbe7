import { beforeEach, expect, test } from "vitest";
import { learntMarksKey } from "../../../shared/events/event-store.ts";
import { changeEventShards } from "../../../trainer/store/event-shards.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { putEvents } from "../../fixtures/event-files.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";

const DAY_MS = 24 * 3_600_000;
const START = Date.parse("2026-01-01T00:00:00Z");
let store: ObjectStore;
beforeEach(() => {
  store = memoryStore();
});
const change = async (shards: number | undefined, day: number) => {
  const { generations } = await changeEventShards(store, { customer: "acme", shards, nowMs: START + day * DAY_MS });
  return generations.map(({ id, shards }) => `${id}: ${shards}`);
};
const learn = async (marks: object) => {
  const key = learntMarksKey("acme");
  await store.swap(key, new TextEncoder().encode(JSON.stringify(marks)), (await store.get(key))?.etag ?? null);
};

test("another number begins another generation, and the same number none", async () => {
  expect(await change(undefined, 0)).toEqual(["0: 4"]);
  expect(await change(4, 1)).toEqual(["0: 4"]);
  expect(await change(16, 2)).toEqual(["0: 4", "1: 16"]);
  expect(await change(16, 3)).toEqual(["0: 4", "1: 16"]);
});
test("a generation is dropped nine days after the next one began, if all its exported events are learnt", async () => {
  await change(4, 0);
  await putEvents(
    store,
    [
      { user: "u", item: "i" },
      { user: "u", item: "j" },
    ],
    { shard: "0-3" },
  );
  await change(16, 1);
  expect(await change(undefined, 11)).toEqual(["0: 4", "1: 16"]);
  await learn({ "0-3": 1 });
  expect(await change(undefined, 11)).toEqual(["0: 4", "1: 16"]);
  await learn({ "0-3": 2 });
  expect(await change(undefined, 9.9)).toEqual(["0: 4", "1: 16"]);
  expect(await change(undefined, 10)).toEqual(["1: 16"]);
  expect(await change(4, 11)).toEqual(["1: 16", "2: 4"]);
});
test("a fifth generation is refused while four are needed", async () => {
  for (const shards of [1, 2, 3, 4]) await change(shards, 0);
  await expect(change(5, 1)).rejects.toThrow("4 generations of shards");
  expect(await change(5, 10)).toEqual(["3: 4", "4: 5"]);
});
