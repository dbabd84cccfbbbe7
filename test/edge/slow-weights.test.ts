/** Loads of large weights in workerd while the bucket is slow and callers hang up. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeEach(async () => {
  edge = await startEdge();
});
afterEach(() => edge.stop());

const SESSION = { interactions: [{ item_id: "i0" }], limit: 2 };
const NEAR = ["i1", "i2"];
/** 26 MB: thirteen reads, two at a time. */
const large = () => shopModel({ padding: 812_000 });
const rank = () => edge.call("/v0/models/shop/rank", { body: SESSION });
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const logged = (event: string) => edge.log.map((line) => JSON.parse(line)).filter((entry) => entry.event === event);
const TEN_SECONDS = { timeout: 10_000, interval: 100 };

test("slow reads are one load, which goes on when the caller that started it hangs up", async () => {
  await edge.publish({ exported: large() });
  const { key } = await edge.issueKey();
  await edge.inject({ keys: "/blobs/", kind: "slow" });
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
});

test("very slow reads end in 503 and keep no memory, and a later load at normal speed succeeds", async () => {
  await edge.publish({ exported: large() });
  await edge.inject({ keys: "/blobs/", kind: "slow", slowMs: 4800 }); // each read meets its own timeout
  const startMs = Date.now();
  const answers = [0, 8000, 16_000].map((waitMs) => sleep(waitMs).then(rank)); // the last call waits at the end of the load
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses).toEqual([503, 503, 503]);
  expect(Date.now() - startMs).toBeLessThan(40_000); // a load may take 25 s
  expect(logged("version_refused").length).toBe(1);
  await edge.inject(undefined);
  await expect.poll(async () => (await rank()).status, TEN_SECONDS).toBe(200);
  expect(logged("version_loaded")[0].heap_bytes).toBeLessThan(16 * 2 ** 20 + 1.5 * 26e6); // the weights are in memory once
});
