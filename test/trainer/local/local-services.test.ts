import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LocalServices, startServices } from "../../../trainer/local/local-services.ts";
import { ensureLocalKey } from "../../../trainer/local/run-local.ts";
import { putDatabase } from "../../fixtures/trainer-state.ts";

const TIMEOUT = 240_000;
let state: string;
let services: LocalServices | undefined;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "services-"));
  await putDatabase(join(state, "trainer"));
});
afterEach(async () => {
  await services?.stop(0);
  await rm(state, { recursive: true, force: true });
});
const start = async (environment: Record<string, string> = {}) => {
  const ports = { edgePort: 0, trainerPort: 0 };
  services = await startServices({
    state,
    ...ports,
    folders: [],
    environment: { ...process.env, ...environment },
  });
  return services;
};

test("edge and trainer start, trust each other, and share a bucket that survives a restart", {
  timeout: TIMEOUT,
}, async () => {
  const { edgeUrl, trainerUrl, stop } = await start();
  const key = await ensureLocalKey(edgeUrl, undefined, new AbortController().signal);
  const list = (headers: Record<string, string>) => fetch(`${edgeUrl}/v0/models`, { headers });
  expect(await (await list({ "x-api-key": key })).json()).toEqual({ models: [] });
  expect((await list({})).status).toBe(401);
  expect(await ensureLocalKey(edgeUrl, key, new AbortController().signal)).toBe(key);
  expect(await ensureLocalKey(edgeUrl, "rk_unknown", new AbortController().signal)).not.toBe(key);
  expect((await fetch(`${trainerUrl}/v0/models`)).status).toBeGreaterThanOrEqual(400);
  await fetch(`${edgeUrl}/v0/models/shop/rank?user_id=user-0100`, { headers: { "x-api-key": key } });
  await stop(20_000);
  expect(await readFile(join(state, "logs", "edge.log"), "utf8")).not.toContain("/v0/models");
  for (const url of [edgeUrl, trainerUrl]) await expect(fetch(url)).rejects.toThrow();

  const again = await start();
  expect((await fetch(`${again.edgeUrl}/v0/models`, { headers: { "x-api-key": key } })).status).toBe(200);
});

test("a port in use is refused with the flag that chooses another", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const options = { state, trainerPort: 0, folders: [], environment: process.env };
  await expect(startServices({ ...options, edgePort: port })).rejects.toThrow(
    new RegExp(`Port ${port} is in use: .*--edge-port PORT`),
  );
  server.close();
});

test("if the trainer cannot start, its error is reported and the edge is stopped", {
  timeout: TIMEOUT,
}, async () => {
  await expect(start({ SHORTLIST_RUN_MEMORY_MB: "lots" })).rejects.toThrow(
    /^The trainer stopped unexpectedly \(code 2\): .*SHORTLIST_RUN_MEMORY_MB/,
  );
});
