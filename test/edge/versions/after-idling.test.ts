/** The first call after an isolate has idled, when the live version has changed meanwhile: ten seconds are promised. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { activate } from "../../../trainer/store/versions.ts";
import { shopItemId, shopModel } from "../../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

const SHOP = { customer: "acme", modelName: "shop" };
const NEAR = ["i1", "i2"];
const FAR = ["i7", "i6"];

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { POINTER_CACHE_SECONDS: 4, KEY_CACHE_SECONDS: 25 } });
});
afterEach(() => edge.inject(undefined));
afterAll(() => edge.stop());

const call = async () => {
  const answer = await edge.call("/v0/models/shop/rank", { body: { interactions: [{ item_id: "i0" }], limit: 2 } });
  return { status: answer.status, version: answer.headers.get("x-model-version"), items: await answer.json() };
};
const publishNear = () => edge.publish();
const publishFar = () => edge.publish({ exported: shopModel({ isReversed: true }) });
/** The isolate has just answered with a new version whose lists are NEAR. */
async function serving() {
  const { version } = await publishNear();
  await edge.idle(12_000);
  expect(await call()).toEqual({ status: 200, version, items: NEAR });
  return version;
}

test.each([10, 12, 30, 100])(
  "after %i s, a new version answers the first call, and so does a roll-back",
  async (seconds) => {
    const first = await serving();
    const { version } = await publishFar();
    await edge.idle(seconds * 1000);
    expect(await call()).toEqual({ status: 200, version, items: FAR });
    await activate(edge.store, SHOP, { version: first, nowMs: Date.now() });
    await edge.idle(seconds * 1000);
    expect(await call()).toEqual({ status: 200, version: first, items: NEAR });
  },
);

test("the first calls wait for slow files, together", async () => {
  await serving();
  const { version } = await publishFar();
  await edge.idle(30_000);
  await edge.inject({ keys: "/blobs/", kind: "slow", slowMs: 500 });
  for (const answer of await Promise.all([call(), call(), call()]))
    expect(answer).toEqual({ status: 200, version, items: FAR });
});

test("if the files cannot be read, the version before answers, and the log says so", async () => {
  const before = await serving();
  await edge.inject({ keys: "/blobs/", kind: "error" });
  const { version } = await publishFar();
  await edge.idle(30_000);
  expect(await call()).toEqual({ status: 200, version: before, items: NEAR });
  expect(edge.log.some((line) => line.includes("version_refused") && line.includes(version))).toBe(true);
  await edge.inject(undefined);
  await edge.idle(100_000);
  expect(await call()).toEqual({ status: 200, version, items: FAR });
});

test("a known user's call still makes one trip when nothing has changed", async () => {
  await serving();
  const rank = () => edge.call("/v0/models/shop/rank?user_id=ann");
  await rank();
  await edge.reads();
  await edge.inject({ keys: "", kind: "slow", slowMs: 600 });
  for (const seconds of [10, 30, 100]) {
    await edge.idle(seconds * 1000);
    expect(await (await rank()).json()).not.toContain(shopItemId(0, "string"));
    // On a slow machine an object may be stale at the end of the trip, and is then read again in the background.
    const firstReads = new Map((await edge.reads()).toReversed().map((read) => [read.key, read.startedMs]));
    const startedMs = [...firstReads.values()];
    expect(startedMs.length).toBeGreaterThan(0);
    expect(Math.max(...startedMs) - Math.min(...startedMs)).toBeLessThan(600);
  }
});
