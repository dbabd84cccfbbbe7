/** The number of a customer's shards changes while events arrive, in a real workerd. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventShardsKey } from "../../../shared/events/event-store.ts";
import { changeEventShards } from "../../../trainer/store/event-shards.ts";
import { storedJson } from "../../../trainer/store/object-store.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { POINTER_CACHE_SECONDS: 0, EVENT_EXPORT_SECONDS: 3600 } });
  await edge.publish({ events: { meanings: { view: { label: true, seen: true } }, learnt: {} } });
});
afterAll(() => edge?.stop());

const USERS = Array.from({ length: 20 }, (_, i) => `user-${i}`);
const eventsOf = (item_id: string) => USERS.map((user_id) => ({ event_id: item_id, user_id, item_id, type: "view" }));
const post = async (events: readonly object[]) => (await edge.call("/v0/events", { body: { events } })).json();
const listOf = async (user: string) => {
  const answer = await edge.call(`/v0/models/shop/rank?user_id=${user}`);
  return { events: answer.headers.get("x-events"), items: (await answer.json()) as string[] };
};

test("before and after the change, each event counts once and is seen by the next list", async () => {
  expect(await post(eventsOf("i1"))).toEqual({ accepted: 20, duplicates: 0 });
  await changeEventShards(edge.store, { customer: "acme", shards: 7, nowMs: Date.now() });
  for (const user of USERS)
    expect(await listOf(user)).toMatchObject({ events: "1", items: expect.not.arrayContaining(["i1"]) });

  // A batch that is repeated after the change is known to the old shards, and the new event beside it is stored in the new ones.
  expect(await post([...eventsOf("i1"), ...eventsOf("i2")])).toEqual({ accepted: 20, duplicates: 20 });
  expect(await post([...eventsOf("i1"), ...eventsOf("i2")])).toEqual({ accepted: 0, duplicates: 40 });
  for (const user of USERS) {
    const { events, items } = await listOf(user);
    expect([events, items.includes("i1"), items.includes("i2")]).toEqual(["2", false, false]);
    const shown = (await (await edge.call(`/v0/users/${user}/events`)).json()) as { events: { item_id: string }[] };
    expect(shown.events.map(({ item_id }) => item_id).sort()).toEqual(["i1", "i2"]);
  }

  const list = storedJson((await edge.store.get(eventShardsKey("acme")))!.bytes);
  expect(list).toMatchObject({
    generations: [
      { id: 0, shards: 4 },
      { id: 1, shards: 7 },
    ],
  });
});
