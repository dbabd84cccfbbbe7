/** The slow calls of one customer do not shut out another customer from the same isolate. */
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const RANK = "/v0/models/shop/rank";

let crowded: EdgeWorld;
let other: string;
beforeAll(async () => {
  crowded = await startEdge({ vars: { CONCURRENT_RANKS_MAX: 8, QUEUE_MS_MAX: 10, READ_TIMEOUT_MS: 1000 } });
  await crowded.publish();
  await crowded.publish({ customer: "globex" });
  other = (await crowded.issueKey({ customer: "globex" })).key;
  expect((await crowded.call(RANK, { key: other })).status).toBe(200);
  expect((await crowded.call(RANK)).status).toBe(200);
});
afterAll(() => crowded.stop());

test("bodies that do not end block no other customer", async () => {
  const { key } = await crowded.issueKey();
  const { hostname, port } = new URL(crowded.workerUrl);
  const head = `POST ${RANK} HTTP/1.1\r\nhost: edge\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n`;
  const sockets = Array.from({ length: 20 }, () => {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    socket.write(`${head}content-length: 100\r\n\r\n{`);
    return socket;
  });
  try {
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await crowded.call(RANK, { key: other })).status).toBe(200);
    expect((await crowded.call(RANK)).status).toBe(200);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});
test("records that cannot be read block no other customer", async () => {
  await crowded.inject({ keys: "/blobs/", kind: "hang" });
  const waiting = Array.from({ length: 20 }, () => crowded.call(`${RANK}?user_id=ann`));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await crowded.call(RANK, { key: other })).status).toBe(200);
  await crowded.inject(undefined);
  for (const { status } of await Promise.all(waiting)) expect([200, 503]).toContain(status);
});
