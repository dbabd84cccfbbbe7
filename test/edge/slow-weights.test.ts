/** Loads of large weights in workerd while the bucket is slow and callers hang up. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { blobKey, type Descriptor } from "../../shared/manifest.ts";
import { shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.stop());

const SESSION = { interactions: [{ item_id: "i0" }], limit: 2 };
const NEAR = ["i1", "i2"];
/** 26 MB: thirteen pieces of a stream. */
const large = () => shopModel({ padding: 812_000 });
const rank = () => edge.call("/v0/models/shop/rank", { body: SESSION });
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const logged = (event: string) => edge.log.map((line) => JSON.parse(line)).filter((entry) => entry.event === event);
const READ_MS = 1500;
const TEN_SECONDS = { timeout: 10_000, interval: 100 };

test("slow reads are one load, which goes on when the caller that started it hangs up", async () => {
  const { manifest } = await edge.publish({ exported: large() });
  const { key } = await edge.issueKey();
  await edge.inject({ keys: "/blobs/", kind: "slow", slowMs: READ_MS });
  const patience = new AbortController();
  const first = fetch(`${edge.workerUrl}/v0/models/shop/rank`, {
    headers: { "x-api-key": key },
    signal: patience.signal,
  });
  await sleep(500);
  const others = Array.from({ length: 10 }, rank);
  await sleep(500);
  expect(logged("version_loaded")).toEqual([]);
  patience.abort();
  await expect(first).rejects.toThrow();
  for (const answer of await Promise.all(others)) expect([answer.status, await answer.json()]).toEqual([200, NEAR]);
  expect(logged("version_loaded").length).toBe(1);
  expect(logged("version_refused")).toEqual([]);
  const reads = await edge.reads();
  const startMs = ({ digest }: Descriptor) =>
    reads.find(({ key }) => key === blobKey("acme", "shop", digest))!.startedMs;
  const { graph, weights } = manifest.model;
  expect(startMs(weights[0]!.file)).toBeLessThan(startMs(graph) + 0.9 * READ_MS); // before the graph has arrived
  await edge.inject(undefined);
});

test("a load that fails keeps no memory, and a later one succeeds", async () => {
  const { manifest } = await edge.publish({ modelName: "failing", exported: shopModel({ padding: 812_001 }) });
  const weights = blobKey("acme", "failing", manifest.model.weights[0]!.file.digest);
  await edge.inject({ keys: weights, kind: "flip" }); // found by the digest, when all weights are in memory
  const status = async () => (await edge.call("/v0/models/failing/rank", { body: SESSION })).status;
  expect(await status()).toBe(503);
  expect(logged("version_refused").length).toBe(1);
  await edge.inject(undefined);
  await expect.poll(status, TEN_SECONDS).toBe(200);
  expect(logged("version_loaded").at(-1).heap_bytes).toBeLessThan(16 * 2 ** 20 + 2.5 * 26e6); // two versions, each once
});
