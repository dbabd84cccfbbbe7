import { createServer } from "node:net";
import { expect, test } from "vitest";
import type { PostgresTarget } from "../../../../../trainer/read/connectors/postgres/config.ts";
import { openSession } from "../../../../../trainer/read/connectors/postgres/session.ts";

/** A server that cuts every connection; the real one is in postgres.test.ts. */
async function cuttingServer() {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => undefined);
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as { port: number };
  const target: PostgresTarget = {
    host: "127.0.0.1",
    port,
    database: "d",
    user: "u",
    password: "p",
    sslMode: "disable",
    rootCertificate: undefined,
  };
  return { target, connections: () => connections, close: () => server.close() };
}

test("connecting is retried a bounded number of times", async () => {
  const server = await cuttingServer();
  const opening = openSession(server.target, { timeoutSeconds: 5, allowPrivate: true, attempts: 2 });
  await expect(opening).rejects.toMatchObject({ name: "StageError", code: "connection_lost", retryable: true });
  expect(server.connections()).toBe(2);
  server.close();
});

test("an address that is not allowed is not connected to", async () => {
  const server = await cuttingServer();
  const opening = openSession(server.target, { timeoutSeconds: 5, allowPrivate: false });
  await expect(opening).rejects.toMatchObject({ code: "address_not_allowed" });
  expect(server.connections()).toBe(0);
  server.close();
});
