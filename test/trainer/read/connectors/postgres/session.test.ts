import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { openSession } from "../../../../../trainer/read/connectors/postgres/session.ts";
import { goesSilentAfter, serverThat } from "../../../../fixtures/silent-postgres.ts";

const LIMITS = { connectSeconds: 5, silenceSeconds: 5, timeoutSeconds: 5, allowPrivate: true };

const cuts = (socket: Socket) => socket.destroy();

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
