/** Deployments that have no shards, and those that may rank without them. */
import { afterEach, expect, test } from "vitest";
import { type EdgeOptions, type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

const EVENTS = { meanings: { view: { label: true, seen: true } }, learnt: {} };
const RANK = "/v0/models/shop/rank?user_id=ann";

let edge: EdgeWorld;
afterEach(() => edge?.stop());
const start = async (options: EdgeOptions) => {
  edge = await startEdge(options);
  await edge.publish({ events: EVENTS });
  await edge.publish({ modelName: "deaf" });
};
const post = () => edge.call("/v0/events", { body: { events: [{ user_id: "ann", item_id: "i2", type: "view" }] } });

test("without the binding, events are unavailable, and models without events rank as before", async () => {
  await start({ hasEvents: false });
  const answer = await post();
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ code: "events_unavailable" });
  expect((await edge.call("/v0/models/deaf/rank?user_id=ann")).status).toBe(200);
  // Nobody can have sent an event, so there are none.
  const listening = await edge.call(RANK);
  expect([listening.status, listening.headers.get("x-events")]).toEqual([200, "0"]);
});
test("with SERVE_WITHOUT_EVENTS, a list is made without events that cannot be read, and the header and the log say so", async () => {
  await start({ vars: { SERVE_WITHOUT_EVENTS: true, EVENTS_TIMEOUT_MS: 100 } });
  expect((await post()).status).toBe(200);
  await edge.inject({ keys: "shard:", kind: "hang" });
  const answer = await edge.call(RANK);
  expect([answer.status, answer.headers.get("x-events")]).toEqual([200, "unavailable"]);
  expect(await answer.json()).toContain("i2");
  expect(edge.log.join()).toContain("served_without_events");
  expect((await post()).status).toBe(503);
  await edge.inject(undefined);
  expect(await (await edge.call(RANK)).json()).not.toContain("i2");
});
