import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { startChild } from "../../../trainer/local/child-service.ts";

test("the edge ends with the reason if another program takes its port", async () => {
  const folder = await mkdtemp(join(tmpdir(), "edge-process-"));
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const edge = startChild({
    name: "edge",
    program: resolve("trainer/local/edge-process.ts"),
    args: [`${port}`, join(folder, "r2")],
    logPath: join(folder, "edge.log"),
    env: {
      ...process.env,
      TRAINER_URL: "http://127.0.0.1:1",
      FORWARD_SECRET: "f".repeat(64),
      WRANGLER_SEND_METRICS: "false",
      WRANGLER_LOG_PATH: folder,
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
    },
  });
  try {
    await expect(Promise.race([edge.failed, edge.ready])).rejects.toThrow(/Address already in use .*:\d+\)/);
  } finally {
    await edge.stop(0);
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
});
