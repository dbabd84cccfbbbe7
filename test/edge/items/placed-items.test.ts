/** New items that the trainer gives a place in the live version, without a training: a real edge, a real trainer, real model runtime. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { fourTastes, fourTastesModel } from "../../fixtures/four-tastes.ts";
import { startWholeService, type WholeService } from "../../fixtures/whole-service.ts";

let service: WholeService;
beforeAll(async () => {
  service = await startWholeService({ edge: { vars: { ITEMS_TIMEOUT_MS: 20_000 } } });
}, 60_000);
afterAll(() => service?.stop());

let models = 0;
let model: string;
beforeEach(async () => {
  model = `placed-${models++}`;
  await service.edge.publish({ modelName: model, dataset: fourTastes(), exported: fourTastesModel() });
});

type Change = { item_id: string; attributes?: object | null; hidden?: boolean };
const change = async (...items: Change[]) =>
  (await service.edge.call(`/v0/models/${model}/items`, { method: "PATCH", body: { items } })).json();
const answerOf = (body: object) => service.edge.call(`/v0/models/${model}/rank`, { body });
const list = async (body: object) => (await (await answerOf({ limit: 250, ...body })).json()) as string[];
const liking = (...items: number[]) => ({ interactions: items.map((item) => ({ item_id: `i${item}` })) });
const placeOf = async (item: string, body: object) => (await list(body)).indexOf(item);
const untilPlaced = (item: string, body: object) =>
  expect.poll(() => placeOf(item, body), { timeout: 60_000, interval: 200 }).toBeLessThan(100);
const NEW_LAMP = { item_id: "lamp", attributes: { kind: "lamps", price: 40 } };

test("a new item stands next to items like it within a minute, and no other score changes by a bit", async () => {
  const bodies = [liking(0), liking(1, 2), liking(0, 5, 9)];
  const scoresOf = async (body: object) => {
    const { items } = (await (await answerOf({ limit: 250, return: ["scores"], ...body })).json()) as {
      items: { item_id: string; score: number }[];
    };
    return items.filter(({ item_id }) => item_id !== "lamp");
  };
  const before = await Promise.all(bodies.map(scoresOf));
  expect(await change(NEW_LAMP)).toEqual({ changed: 1, ignored: 0, new: 1, placed: "within_a_minute" });
  await untilPlaced("lamp", liking(0));
  expect(await Promise.all(bodies.map(scoresOf))).toEqual(before);

  const forLamps = await list(liking(0));
  expect(forLamps.indexOf("lamp")).toBeGreaterThanOrEqual(10);
  expect(forLamps.indexOf("lamp")).toBeLessThan(50); // there are 49 other lamps
  expect(await placeOf("lamp", liking(1))).toBeGreaterThanOrEqual(49); // behind the other rugs
});

test("a hidden new item is in no list, and leaves its place to others", async () => {
  await change(NEW_LAMP, { ...NEW_LAMP, item_id: "other" });
  await untilPlaced("lamp", liking(0));
  await untilPlaced("other", liking(0));
  await change({ item_id: "lamp", hidden: true });
  await expect.poll(() => placeOf("lamp", liking(0)), { timeout: 15_000 }).toBe(-1);
  expect(await placeOf("other", liking(0))).toBeLessThan(100);
  expect(await list({ ...liking(0), pinned: ["lamp"] })).not.toContain("lamp");
});

test("of 20 new lamps, at most one of ten places holds one, also where a filter leaves few other items", async () => {
  const lamps = Array.from({ length: 20 }, (_, i) => ({ ...NEW_LAMP, item_id: `lamp-${i}` }));
  await change(...lamps);
  await untilPlaced("lamp-0", liking(0));
  const isNew = (item: string) => item.startsWith("lamp-");
  for (const retrieval of [undefined, { kind: "lamps" }, { price: { $lt: 50 } }]) {
    const found = await list({ ...liking(0), retrieval });
    for (let end = 0; end <= 40; end += 10)
      expect(found.slice(0, end).filter(isNew).length).toBeLessThanOrEqual(end / 10);
    expect(found.filter(isNew)).toHaveLength(20);
  }
});

test("attributes that no item shares give no place, and changed ones give another", async () => {
  await change({ item_id: "odd", attributes: { kind: "globes" } });
  await change(NEW_LAMP);
  await untilPlaced("lamp", liking(0));
  expect(await placeOf("odd", liking(0))).toBe(200);
  await change({ item_id: "odd", attributes: { kind: "lamps", price: 40 } });
  await untilPlaced("odd", liking(0));
});

test("a version that is published later is extended when the trainer hears of it", async () => {
  const { edge, trainer } = service;
  await change(NEW_LAMP);
  await untilPlaced("lamp", liking(0));
  await edge.publish({ modelName: model, dataset: fourTastes(), exported: fourTastesModel(), historyMax: 40 });
  await expect.poll(() => placeOf("lamp", liking(0)), { timeout: 15_000 }).toBe(199);
  expect(await change({ ...NEW_LAMP, item_id: "other" })).toMatchObject({ placed: "within_a_minute" });
  await untilPlaced("lamp", liking(0));
  expect(trainer).toBeDefined();
});
