/** New items that the trainer gives a place in the live version, without a training: a real edge, a real trainer, real model runtime. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { putExtension } from "../../../trainer/store/extensions.ts";
import { fourTastes, fourTastesModel } from "../../fixtures/four-tastes.ts";
import { startWholeService, type WholeService } from "../../fixtures/whole-service.ts";

let service: WholeService;
beforeAll(async () => {
  service = await startWholeService({ edge: { vars: { ITEMS_TIMEOUT_MS: 20_000 } } });
}, 60_000);
afterAll(() => service?.stop());

let models = 0;
let model: string;
const publish = () =>
  service.edge.publish({
    modelName: model,
    dataset: fourTastes(),
    exported: fourTastesModel(),
    events: { meanings: { purchase: { label: true, seen: true } }, learnt: {} },
  });
beforeEach(async () => {
  model = `placed-${models++}`;
  await publish();
});

type Change = { item_id: string; attributes?: object | null; hidden?: boolean };
const change = async (...items: Change[]) =>
  (await service.edge.call(`/v0/models/${model}/items`, { method: "PATCH", body: { items } })).json();
const view = async (item: string) => (await service.edge.call(`/v0/models/${model}/items/${item}`)).json();
const answerOf = (body: object) => service.edge.call(`/v0/models/${model}/rank`, { body: { limit: 250, ...body } });
const list = async (body: object) => (await (await answerOf(body)).json()) as string[];
const liking = (...items: number[]) => ({ interactions: items.map((item) => ({ item_id: `i${item}` })) });
const placeOf = async (item: string, body: object) => (await list(body)).indexOf(item);
const untilPlaced = (item: string, body: object = liking(0)) =>
  expect.poll(() => placeOf(item, body), { timeout: 60_000, interval: 200 }).toBeLessThan(100);
const NEW_LAMP = { item_id: "lamp", attributes: { kind: "lamps", price: 40 } };

test("a new item stands next to items like it within a minute, and no other score changes by a bit", async () => {
  const bodies = [liking(0), liking(1, 2), liking(0, 5, 9), {}];
  const scoresOf = async (body: object) => {
    const { items } = (await (await answerOf({ return: ["scores"], ...body })).json()) as {
      items: { item_id: string; score: number }[];
    };
    return items.filter(({ item_id }) => item_id !== "lamp");
  };
  const before = await Promise.all(bodies.map(scoresOf));
  expect(await change(NEW_LAMP)).toEqual({ changed: 1, ignored: 0, new: 1, placed: "within_a_minute" });
  await untilPlaced("lamp");
  expect(await Promise.all(bodies.map(scoresOf))).toEqual(before);
  expect(await view("lamp")).toMatchObject({ new: true, placed: true });

  const forLamps = await list(liking(0));
  expect(forLamps.indexOf("lamp")).toBeGreaterThanOrEqual(10);
  expect(forLamps.indexOf("lamp")).toBeLessThan(50); // there are 49 other lamps
  expect(await placeOf("lamp", liking(1))).toBeGreaterThanOrEqual(49); // behind the other rugs
  expect(await placeOf("lamp", {})).toBe(200); // popular items
});

test("of 20 new lamps, at most one of ten places holds one, and none that is hidden, seen or filtered out", async () => {
  const lamps = Array.from({ length: 20 }, (_, i) => ({ ...NEW_LAMP, item_id: `lamp-${i}` }));
  await change(...lamps);
  await untilPlaced("lamp-0");
  const isNew = (item: string) => item.startsWith("lamp-");
  for (const retrieval of [undefined, { kind: "lamps" }, { price: { $lt: 50 } }]) {
    const found = await list({ ...liking(0), retrieval });
    for (let end = 0; end <= 40; end += 10)
      expect(found.slice(0, end).filter(isNew).length).toBeLessThanOrEqual(end / 10);
    expect(found.filter(isNew)).toHaveLength(20);
  }
  expect((await list({ ...liking(0), retrieval: { kind: "rugs" } })).filter(isNew)).toEqual([]);

  const buy = (item_id: string) =>
    service.edge.call("/v0/events", { body: { events: [{ user_id: "ann", item_id, type: "purchase" }] } });
  await buy("i0");
  const ofAnn = (await list({ user_id: "ann" })).filter(isNew);
  expect(ofAnn).toHaveLength(20);
  await buy(ofAnn[0]!);
  await change({ item_id: ofAnn[1]!, hidden: true });
  await expect.poll(async () => (await list({ user_id: "ann" })).filter(isNew)).toEqual(ofAnn.slice(2));
  expect((await list({ user_id: "ann" })).findIndex(isNew)).toBe((await list(liking(0))).findIndex(isNew));
});

test("items are placed when they get shared values, and again in a version that is published later", async () => {
  await change(NEW_LAMP, { item_id: "odd", attributes: { kind: "globes" } });
  await untilPlaced("lamp");
  expect([await placeOf("odd", liking(0)), await view("odd")]).toMatchObject([200, { placed: false }]);
  await change({ item_id: "odd", attributes: { kind: "lamps", price: 40 } });
  await untilPlaced("odd");
  const { version } = await publish();
  const served = async () => (await answerOf({})).headers.get("x-model-version");
  await expect.poll(served).toBe(version);
  expect([await placeOf("lamp", liking(0)), await placeOf("odd", liking(0))].sort()).toEqual([199, 200]);
  expect(await change({ ...NEW_LAMP, item_id: "third" })).toMatchObject({ placed: "within_a_minute" });
  await untilPlaced("lamp");
});

test("an extension that cannot be read places no item, and is read again", async () => {
  const { store } = service.edge;
  const { version } = await publish();
  const bytes = new TextEncoder().encode("absent");
  await change(NEW_LAMP);
  await untilPlaced("lamp");
  await putExtension(store, { customer: "acme", modelName: model }, { version, bytes, nowMs: Date.now() });
  await expect.poll(() => placeOf("lamp", liking(0))).toBe(199);
  expect(service.edge.log.some((line) => line.includes("extension_not_read"))).toBe(true);
  await change({ ...NEW_LAMP, item_id: "other" });
  await untilPlaced("lamp");
});

test("without a trainer, new items wait for the next training, and come last", async () => {
  await service.trainer.stop();
  expect(await change(NEW_LAMP)).toEqual({ changed: 1, ignored: 0, new: 1, placed: "after_training" });
  expect([await placeOf("lamp", liking(0)), await view("lamp")]).toMatchObject([199, { placed: false }]);
});
