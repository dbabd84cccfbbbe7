import { createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import type { PostgresTarget } from "../../../../../trainer/read/connectors/postgres/config.ts";
import { openSession } from "../../../../../trainer/read/connectors/postgres/session.ts";

const LIMITS = { connectSeconds: 5, silenceSeconds: 5, timeoutSeconds: 5, allowPrivate: true };

/** A server with its own idea of the protocol; the real one is in postgres.test.ts. */
async function serverThat(meets: (socket: Socket) => void) {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on("error", () => undefined);
    meets(socket);
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

const cuts = (socket: Socket) => socket.destroy();

/** A message of Postgres's protocol. */
const message = (type: string, body: Buffer | string = "") => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + Buffer.byteLength(body), 1);
  return Buffer.concat([head, Buffer.from(body)]);
};
const READY = message("Z", "T");
const GREETING = Buffer.concat([message("R", Buffer.alloc(4)), READY]);
/** The answer to a statement without rows. */
const DONE = Buffer.concat([message("1"), message("2"), message("n"), message("C", "SET\0"), READY]);

/** Greets, answers so many statements, and then keeps the connection without a word. */
const goesSilentAfter = (statements: number) => (socket: Socket) => {
  let answered = -1; // the first message is the start-up
  socket.on("data", () => {
    if (answered++ < 0) socket.write(GREETING);
    else if (answered <= statements) socket.write(DONE);
  });
};

test.each([
  ["before its greeting", () => undefined, "source_unreachable", "SHORTLIST_CONNECT_SECONDS"],
  ["after its greeting", goesSilentAfter(0), "source_silent", "1 seconds (SHORTLIST_CONNECT_SECONDS)"],
  ["after a few statements", goesSilentAfter(3), "source_silent", "1 seconds (SHORTLIST_CONNECT_SECONDS)"],
])("a server that goes silent %s ends the opening", async (_, meets, code, text) => {
  const server = await serverThat(meets);
  const opening = openSession(server.target, { ...LIMITS, connectSeconds: 1, attempts: 1 });
  await expect(opening).rejects.toMatchObject({ code, retryable: true, message: expect.stringContaining(text) });
  server.close();
});

test("a server that goes silent before the answer to a query ends the reading", async () => {
  const server = await serverThat(goesSilentAfter(7));
  const session = await openSession(server.target, { ...LIMITS, silenceSeconds: 1 });
  await expect(session.run("SELECT 1")).rejects.toMatchObject({
    code: "source_silent",
    retryable: true,
    message: expect.stringContaining("1 seconds (SHORTLIST_SILENCE_SECONDS)"),
  });
  await session.close();
  server.close();
});

test("connecting is retried a bounded number of times", async () => {
  const server = await serverThat(cuts);
  const opening = openSession(server.target, { ...LIMITS, attempts: 2 });
  await expect(opening).rejects.toMatchObject({ name: "StageError", code: "connection_lost", retryable: true });
  expect(server.connections()).toBe(2);
  server.close();
});

test("an address that is not allowed is not connected to", async () => {
  const server = await serverThat(cuts);
  const opening = openSession(server.target, { ...LIMITS, allowPrivate: false });
  await expect(opening).rejects.toMatchObject({ code: "address_not_allowed" });
  expect(server.connections()).toBe(0);
  server.close();
});
