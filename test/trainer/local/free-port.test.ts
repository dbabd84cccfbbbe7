import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { freePort } from "../../../trainer/local/free-port.ts";

test("0 gives some port, and a free one is given back", async () => {
  const port = await freePort(0, "--edge-port");
  expect(port).toBeGreaterThan(1023);
  expect(await freePort(port, "--edge-port")).toBe(port);
});

test("a port in use is told with the flag that chooses another", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await expect(freePort(port, "--edge-port")).rejects.toThrow(new RegExp(`Port ${port} is in use: .*--edge-port PORT`));
  await new Promise((resolve) => server.close(resolve));
});
