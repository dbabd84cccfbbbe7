/** Data points of rank calls in a real workerd, with a stand-in of Cloudflare's Analytics Engine, which takes none locally. */
import { afterEach, expect, test } from "vitest";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

let edge: EdgeWorld;
afterEach(() => edge.stop());
const start = async (HAS_ANALYTICS: string | boolean) => {
  edge = await startEdge({ vars: { HAS_ANALYTICS } });
  return (await edge.publish()).version;
};
const points = async () => (await fetch(`${edge.workerUrl}/test/points`)).json();

test("each rank call with a known key writes one point, whatever its answer", async () => {
  const version = await start(true);
  const { key } = await edge.issueKey({ customer: "acme" });
  await edge.call("/v0/models/shop/rank?limit=3", { key });
  await edge.call("/v0/models/shop/similar_items?item_id=none", { key });
  await edge.call("/v0/models/absent/rank", { key, body: {} });
  await edge.call("/v0/models/shop/rank", { key: `rk_${"A1".repeat(18)}` });
  await edge.call("/health/live");
  await edge.call("/v0/models", { key });
  const ms = expect.any(Number);
  expect(await points()).toEqual([
    { indexes: ["acme"], blobs: ["shop", "popular", "200", "", version, "rank"], doubles: [ms, 3] },
    { indexes: ["acme"], blobs: ["shop", "", "404", "item_not_found", "", "similar_items"], doubles: [ms, 0] },
    { indexes: ["acme"], blobs: ["absent", "", "404", "model_not_found", "", "rank"], doubles: [ms, 0] },
  ]);
});
test("a dataset that fails costs a line of the log and no answer", async () => {
  await start("broken");
  expect((await edge.call("/v0/models/shop/rank")).status).toBe(200);
  expect(edge.log.join()).toContain("call_point_not_written");
});
test("without the binding nothing is written", async () => {
  await start(false);
  expect((await edge.call("/v0/models/shop/rank")).status).toBe(200);
  expect(await points()).toEqual([]);
});
