import { afterAll, beforeAll, expect, test } from "vitest";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { READ_TIMEOUT_MS: 100 } });
});
afterAll(() => edge.stop());

const statusOf = async (path: string) => (await edge.call(path, { key: null })).status;

test("live and ready answer without a key", async () => {
  expect(await statusOf("/health/live")).toBe(200);
  expect(await statusOf("/health/ready")).toBe(200);
});
test("the running Worker has nothing of Node's API, and in tests its clocks advance only with I/O", async () => {
  const answer = await fetch(`${edge.url}/test/runtime`);
  expect(await answer.json()).toEqual({
    process: "undefined",
    buffer: "undefined",
    hasNodeModules: false,
    isFrozen: true,
    advances: true,
  });
});
test("while the bucket fails, the Worker is live and not ready", async () => {
  await edge.inject({ keys: "health", kind: "error" });
  await expect.poll(() => statusOf("/health/ready"), { timeout: 10_000 }).toBe(503);
  expect(await statusOf("/health/live")).toBe(200);
  await Promise.all(Array.from({ length: 20 }, () => statusOf("/health/ready")));
  expect(await edge.inject(undefined)).toBeLessThan(20); // anybody may call
  await expect.poll(() => statusOf("/health/ready"), { timeout: 10_000 }).toBe(200);
});
