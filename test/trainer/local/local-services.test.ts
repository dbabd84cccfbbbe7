import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startServices } from "../../../trainer/local/local-services.ts";

let state: string;
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), "services-"));
});
afterEach(() => rm(state, { recursive: true, force: true }));
const start = (edgePort: number, environment: Record<string, string> = {}) =>
  startServices({ state, edgePort, trainerPort: 0, folders: [], environment: { ...process.env, ...environment } });

test("a port in use is refused with the flag that chooses another", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await expect(start(port)).rejects.toThrow(new RegExp(`Port ${port} cannot be used .*--edge-port PORT`));
  server.close();
});

test("if the trainer cannot start, its error is reported and the edge is stopped", async () => {
  await expect(start(0, { SHORTLIST_RUN_MEMORY_MB: "lots" })).rejects.toThrow(
    /^The trainer stopped unexpectedly \(code 2\): .*SHORTLIST_RUN_MEMORY_MB/,
  );
});
