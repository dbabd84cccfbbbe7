/** What callers see while versions, keys and models change. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { deleteModel, writeTombstone } from "../../trainer/store/delete-model.ts";
import { activate } from "../../trainer/store/versions.ts";
import { shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { POINTER_CACHE_SECONDS: 1, KEY_CACHE_SECONDS: 1 } });
});
afterAll(() => edge.stop());

const RANK = "/v0/models/shop/rank";
const SESSION = { interactions: [{ item_id: "i0" }], limit: 2 };
const NEAR = ["i1", "i2"];
const FAR = ["i7", "i6"];
const TEN_SECONDS = { timeout: 10_000, interval: 50 };

/** Calls with short pauses until it is stopped. Collects the status, version and list of every answer. */
function keepCalling(callers: number) {
  const answers: { status: number; version: string | null; list: unknown }[] = [];
  let isOver = false;
  const loop = async () => {
    while (!isOver) {
      const answer = await edge.call(RANK, { body: SESSION });
      answers.push({
        status: answer.status,
        version: answer.headers.get("x-model-version"),
        list: await answer.json(),
      });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const loops = Array.from({ length: callers }, loop);
  const stop = async () => {
    isOver = true;
    await Promise.all(loops);
    return answers;
  };
  return { answers, stop };
}

test("a new version serves within ten seconds, and a roll-back too, without a failed or a mixed answer", async () => {
  const first = await edge.publish();
  const calls = keepCalling(3);
  const isServed = (version: string) => () => calls.answers.at(-1)?.version === version;
  await expect.poll(isServed(first.version), TEN_SECONDS).toBe(true);
  const second = await edge.publish({ exported: shopModel({ isReversed: true }) });
  await expect.poll(isServed(second.version), TEN_SECONDS).toBe(true);
  await activate(edge.store, { customer: "acme", modelName: "shop" }, { version: first.version, nowMs: Date.now() });
  await expect.poll(isServed(first.version), TEN_SECONDS).toBe(true);

  const answers = await calls.stop();
  expect(answers.length).toBeGreaterThan(50);
  const expected = new Map([
    [first.version, NEAR],
    [second.version, FAR],
  ]);
  for (const { status, version, list } of answers) {
    expect(status).toBe(200);
    expect(list).toEqual(expected.get(version!));
  }
});

test("a newer version with damaged files never serves: the older one does, until the files are repaired", async () => {
  await edge.publish({ modelName: "damaged" });
  const call = () => edge.call("/v0/models/damaged/rank", { body: SESSION });
  expect(await (await call()).json()).toEqual(NEAR);
  const kinds = ["flip", "truncate", "missing", "error"] as const;
  for (const kind of kinds) {
    await edge.inject({ keys: "/blobs/", kind });
    const { version } = await edge.publish({ modelName: "damaged", exported: shopModel({ isReversed: true }) });
    const refused = () => edge.log.some((line) => line.includes("version_refused") && line.includes(version));
    const callUntilRefused = async () => {
      const answer = await call();
      expect([answer.status, await answer.json()]).toEqual([200, NEAR]);
      return refused();
    };
    await expect.poll(callUntilRefused, TEN_SECONDS).toBe(true);
    expect((await call()).status).toBe(200);
    await edge.inject(undefined);
  }
  const list = async () => (await call()).json();
  await expect.poll(list, TEN_SECONDS).toEqual(FAR);
});

test("a revoked key stops working when its cached record is too old", async () => {
  const { key, keyId } = await edge.issueKey();
  const status = async () => (await edge.call(RANK, { key })).status;
  expect(await status()).toBe(200);
  await edge.revokeKey(keyId);
  await expect.poll(status, TEN_SECONDS).toBe(401);
});

test("a deleted model stops ranking within seconds, and answers as an unknown one", async () => {
  expect((await edge.call(RANK)).status).toBe(200);
  await writeTombstone(edge.store, { customer: "acme", modelName: "shop" }, { nowMs: Date.now() });
  await expect.poll(async () => (await edge.call(RANK)).status, TEN_SECONDS).toBe(404);
});

test.each([true, false])(
  "a new model with the name of a deleted one never answers with the deleted one's list (called in between: %s)",
  async (isCalled) => {
    const model = { customer: "acme", modelName: `again-${isCalled}` };
    const call = () => edge.call(`/v0/models/${model.modelName}/rank`, { body: SESSION });
    await edge.publish(model);
    expect(await (await call()).json()).toEqual(NEAR);
    await deleteModel(edge.store, model, { nowMs: Date.now(), signal: new AbortController().signal });
    if (isCalled) await expect.poll(async () => (await call()).status, TEN_SECONDS).toBe(404);
    const { version } = await edge.publish({ ...model, exported: shopModel({ isReversed: true }) });
    // Without a call in between, this isolate may use its cached pointer for the usual time.
    await new Promise((resolve) => setTimeout(resolve, 2100));
    await edge.inject({ keys: "/blobs/", kind: "error" });
    expect((await call()).status).toBe(503);
    await edge.inject(undefined);
    const answer = async () => {
      const { status, headers } = await call();
      return [status, headers.get("x-model-version")];
    };
    await expect.poll(answer, TEN_SECONDS).toEqual([200, version]);
    expect(await (await call()).json()).toEqual(FAR);
  },
);

test("when more models are called than fit into memory, each is ranked right and the least used are evicted", async () => {
  const small = await startEdge({ vars: { CACHE_MEGABYTES: 28, POINTER_CACHE_SECONDS: 5 } });
  const names = ["m0", "m1", "m2", "m3", "m4"];
  for (const [i, modelName] of names.entries())
    await small.publish({ modelName, exported: shopModel({ isReversed: i % 2 === 1, padding: 100_000 + i }) }); // 3.2 MB
  const rank = async (i: number) => {
    const answer = await small.call(`/v0/models/${names[i]}/rank`, { body: SESSION });
    expect([answer.status, await answer.json()]).toEqual([200, i % 2 === 1 ? FAR : NEAR]);
  };
  for (let round = 0; round < 2; round++) await Promise.all([0, 1, 2, 3, 4].map((i) => rank(i)));
  const loads = () => small.log.map((line) => JSON.parse(line)).filter(({ event }) => event === "version_loaded");
  expect(loads().length).toBeGreaterThan(names.length); // some were evicted and loaded again
  const count = loads().length; // in these, versions in use could not be evicted at once, so the heap may have grown beyond the budget
  for (const i of names.keys()) await rank(i);
  const alone = loads().slice(count);
  await small.stop();
  expect(alone.length).toBeGreaterThan(0);
  for (const { used_bytes } of alone) expect(used_bytes).toBeLessThanOrEqual(28_000_000);
  expect(alone.at(-1).heap_bytes).toBeLessThan(48_000_000); // released memory is used again
});
