/** A canary whose version does not fit into the isolate beside the live one. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { shopModel } from "../fixtures/edge-shop.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

/** Makes a version of 7 MB. An isolate of 28 MB then holds one beside the runtime, which takes 17 MB, but not two. */
const PADDING = 200_000;
const CANARY = { share: 0.5, hours: 24, goal: { type: "purchase", within_hours: 24 }, edgeMemoryBytes: 1e9 } as const;

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { ...CACHING, CACHE_MEGABYTES: 28 } });
});
afterAll(() => edge.stop());

test("its users get the live version, and nobody waits for the memory of another", async () => {
  const live = await edge.publish({ exported: shopModel({ padding: PADDING }) });
  expect((await edge.call("/v0/models/shop/rank")).status).toBe(200);
  const canary = await edge.publish({ exported: shopModel({ padding: PADDING + 1 }), canary: CANARY });
  await edge.idle(12_000);
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, user) => edge.call(`/v0/models/shop/rank?user_id=u${user}`)),
  );
  for (const { status, headers } of answers)
    expect([status, headers.get("x-model-version"), headers.get("x-arm")]).toEqual([200, live.version, null]);
  const lines = edge.log.map((line) => JSON.parse(line));
  expect(lines.filter(({ event }) => event === "version_loaded").map(({ version }) => version)).toEqual([live.version]);
  const refused = lines.find(({ event }) => event === "version_refused");
  expect(refused.version).toBe(canary.version);
  expect(refused.error).toContain("CACHE_MEGABYTES");
});
