/** Lists of a version that knows at which time of the day items are chosen, in a real workerd. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringAt } from "../../shared/packed-strings.ts";
import { drawnWorld } from "../bench/edge-scale-world.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const DAY = 86_400;
const world = drawnWorld({ label: "shop", itemCount: 200, userCount: 100, weightBytesMax: 50_000 });
/** Even items are chosen at 6 o'clock and odd ones at 18. */
const dataset = {
  ...world.dataset,
  times: world.dataset.times.map((time, row) => time - (time % DAY) + (world.dataset.items[row]! % 2 ? 18 : 6) * 3600),
};
const evenIds = new Set(Array.from({ length: 100 }, (_, half) => stringAt(dataset.itemIds, 2 * half)));

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge();
  await edge.publish({ dataset, exported: world.exported, knowsHours: true, itemIdColumn: "item_id" });
});
afterAll(async () => {
  await edge?.stop();
});

let idledMs = 0;
async function waitUntil(hour: number): Promise<void> {
  const ms = Date.now() + idledMs;
  const wait = (hour * 3_600_000 + 60_000 - (ms % (DAY * 1000)) + DAY * 1000) % (DAY * 1000);
  await edge.idle(wait);
  idledMs += wait;
}

async function listOf(fields: object): Promise<string[]> {
  const answer = await edge.call("/v0/models/shop/rank", { body: { limit: 20, ...fields } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as unknown[]).map(String);
}
const evenIn = (list: readonly string[]) => list.filter((id) => evenIds.has(id)).length;

test("lists for a user change from morning to evening, and popular ones stay", async () => {
  await waitUntil(6);
  const [morning, popular] = [await listOf({ user_id: "0" }), await listOf({ strategy: "popular" })];
  await waitUntil(18);
  const evening = await listOf({ user_id: "0" });
  expect(evenIn(morning)).toBeGreaterThan(15);
  expect(evenIn(evening)).toBeLessThan(5);
  expect(await listOf({ strategy: "popular" })).toEqual(popular);
});
