/** A canary and a holdout through a real edge and a real trainer. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { forEachConcurrently } from "../../shared/concurrently.ts";
import { armOf } from "../../shared/experiment/running.ts";
import type { ModelRecord } from "../../shared/model-record.ts";
import { readLivePointer } from "../../trainer/store/live-pointer-swap.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

const MODEL = "/v0/models/shop";
const CANARY = { share: 0.4, hours: 24, goal: { type: "purchase", within_hours: 24 } };
const SHARDS = [0, 1, 2, 3].map((shard) => `acme/0-${shard}`);
const users = Array.from({ length: 200 }, (_, i) => `u${i}`);

let service: WholeService;
let [live, canary] = ["", ""];
beforeAll(async () => {
  service = await startWholeService({ edge: { vars: { EVENT_EXPORT_SECONDS: 1 } } });
  live = (await service.edge.publish()).version;
  await service.trainer.create("shop", `publish ${live}`);
  await service.trainer.until("shop", (record) => record.version === live);
  canary = (await service.edge.publish({ canary: { ...CANARY, edgeMemoryBytes: 80e6 } })).version;
});
afterAll(() => service.stop());

const call = async (method: string, path: string, body?: unknown) => {
  const answer = await service.edge.call(path, { method, body });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as ModelRecord };
};
const rank = (fields: object) => call("POST", `${MODEL}/rank`, fields);
/** The record, after the trainer has looked at the pointer and the counts. */
const settled = async () => {
  await Promise.all(SHARDS.map((shard) => service.edge.alarm(shard)));
  await service.trainer.call("PATCH", MODEL, { body: { train_schedule: "@weekly" } });
  return (await call("GET", MODEL)).body;
};

test("the setting is part of the record, is checked, and can be removed", async () => {
  expect((await call("PATCH", MODEL, { canary: CANARY })).body.canary).toEqual(CANARY);
  const refused = await call("PATCH", MODEL, { canary: { ...CANARY, share: 0.9 } });
  expect([refused.status, (refused.body as unknown as { errors: { pointer: string }[] }).errors[0]!.pointer]).toEqual([
    400,
    "/canary/share",
  ]);
  expect((await call("PATCH", MODEL, { canary: null })).body).not.toHaveProperty("canary");
});

test("users of the share get the new version, always, and are told; a worse one is taken back", async () => {
  const inCanary: string[] = [];
  await forEachConcurrently(users, 8, async (user_id) => {
    const { headers } = await rank({ user_id });
    const version = headers.get("x-model-version");
    expect(headers.get("x-arm")).toBe(version === canary ? "canary" : null);
    if (version === canary) inCanary.push(user_id);
    else expect(version).toBe(live);
  });
  expect(inCanary.length).toBeGreaterThan(50);
  expect(inCanary.length).toBeLessThan(110);
  for (const user_id of inCanary.slice(0, 9))
    expect((await rank({ user_id })).headers.get("x-model-version")).toBe(canary);
  expect((await rank({})).headers.get("x-model-version")).toBe(live);
  const similar = await call("POST", `${MODEL}/similar_items`, { item_id: "i1", user_id: inCanary[0] });
  expect(similar.headers.get("x-model-version")).toBe(live);

  const buyers = users.filter((user, i) => !inCanary.includes(user) || i % 2 === 0);
  const events = buyers.map((user_id) => ({ user_id, item_id: "i1", type: "purchase" }));
  await call("POST", "/v0/events", { events });
  await vi.waitFor(
    async () => {
      const { last_canary, version } = await settled();
      expect(version).toBe(live);
      expect(last_canary).toMatchObject({ version: canary, state: "kept", report: { verdict: "worse" } });
      expect(last_canary!.report!.arms.map(({ name }) => name)).toEqual(["live", "canary"]);
    },
    { timeout: 30_000, interval: 500 },
  );
  for (const user_id of inCanary.slice(0, 5))
    expect((await rank({ user_id })).headers.get("x-model-version")).toBe(live);
});

test("an experiment and a canary divide users independently, and whose arm has a version takes no part in the canary", async () => {
  const next = (await service.edge.publish({ canary: { ...CANARY, edgeMemoryBytes: 80e6 } })).version;
  const arms = [
    { name: "now", share: 0.5 },
    { name: "before", share: 0.5, version: canary },
  ];
  expect((await call("PUT", `${MODEL}/experiment`, { name: "first", arms, goal: CANARY.goal })).status).toBe(200);
  const seen = new Map<string, number>();
  await forEachConcurrently(users.slice(0, 100), 8, async (user_id) => {
    const { headers } = await rank({ user_id });
    const key = `${headers.get("x-arm")} ${headers.get("x-model-version")}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
  });
  expect([...seen.keys()].sort()).toEqual([`before ${canary}`, `now ${live}`, `now ${next}`].sort());
  expect([...seen.values()].every((count) => count > 8)).toBe(true);
  await call("DELETE", `${MODEL}/experiment`);
});

test("users who are held out get popular items, take no other part, and show what the model earns", async () => {
  const holdout = { share: 0.05, goal: CANARY.goal };
  const unknown = await call("PATCH", MODEL, { holdout: { ...holdout, version: "20200101T000000000Z-00000000" } });
  expect([unknown.status, (unknown.body as unknown as { code: string }).code]).toEqual([404, "version_not_found"]);
  expect((await call("PATCH", MODEL, { holdout: { ...holdout, share: 0.2 } })).status).toBe(400);
  const { body } = await call("PATCH", MODEL, { holdout });
  expect(body.holdout).toEqual(holdout);
  const ref = { customer: "acme", modelName: "shop" };
  const running = await vi.waitFor(async () => {
    const { pointer } = (await readLivePointer(service.edge.store, ref))!;
    expect(pointer.holdout).toBeDefined();
    return pointer.holdout!;
  }, 30_000);
  const of = (name: string) =>
    Array.from({ length: 2000 }, (_, i) => `h${i}`)
      .filter((user) => armOf(running, user)?.name === name)
      .slice(0, 30);
  const [held, compared] = [of("holdout"), of("model")];
  const arms = [
    { name: "now", share: 0.5 },
    { name: "before", share: 0.5, version: canary },
  ];
  await call("PUT", `${MODEL}/experiment`, { name: "second", arms, goal: CANARY.goal });
  const interactions = [{ item_id: "i1" }];
  await forEachConcurrently([...held, ...compared], 8, async (user_id) => {
    const { headers } = await rank({ user_id, interactions });
    const isHeld = held.includes(user_id);
    expect(headers.get("x-rank-strategy")).toBe(isHeld ? "popular" : "session");
    expect(headers.get("x-arm") === "holdout").toBe(isHeld);
  });
  const events = compared.map((user_id) => ({ user_id, item_id: "i1", type: "purchase" }));
  await call("POST", "/v0/events", { events });
  const count = (exposed: number, reached: number) => ({ exposed, reached, rate: reached / exposed });
  await vi.waitFor(
    async () => {
      const { earnings } = await settled();
      expect(earnings).toMatchObject({ holdout: count(30, 0), model: count(30, 30), lift: null, problem: null });
    },
    { timeout: 30_000, interval: 1000 },
  );
});
