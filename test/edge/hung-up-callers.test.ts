import { Agent, request } from "node:http";
import { expect, test } from "vitest";
import { startEdge } from "../fixtures/edge-world.ts";

const CALLERS = 120;
const PATH = "/v0/models/shop/rank?limit=3";
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("callers that hang up in the queue cause no refusals for others", async () => {
  const edge = await startEdge({ vars: { POINTER_CACHE_SECONDS: 5, KEY_CACHE_SECONDS: 30 } });
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS, maxFreeSockets: CALLERS });
  try {
    await edge.publish();
    await edge.publish({ customer: "other" });
    const { key } = await edge.issueKey();
    const { key: other } = await edge.issueKey({ customer: "other" });
    for (const known of [key, other]) expect((await edge.call(PATH, { key: known })).status).toBe(200);

    /** The status, or "hung up" after a reset at `resetMs`. workerd does not notice a connection that is only half closed. */
    const send = (path: string, resetMs?: number) =>
      new Promise<number | "hung up">((resolve) => {
        const call = request(new URL(path, edge.workerUrl).href, { agent, headers: { "x-api-key": key } }, (answer) => {
          answer.resume();
          answer.on("end", () => resolve(answer.statusCode!));
        });
        call.on("error", () => resolve("hung up"));
        call.end();
        if (resetMs !== undefined) setTimeout(() => call.socket?.resetAndDestroy(), resetMs);
      });
    let hungUp = 0;
    for (let burst = 0; burst < 6; burst++) {
      await Promise.all(Array.from({ length: CALLERS }, () => send("/health/live"))); // opens the connections
      const ends = await Promise.all(Array.from({ length: CALLERS }, (_, i) => send(PATH, 10 + (i % 3) * 10)));
      hungUp += ends.filter((end) => end === "hung up").length;
    }
    expect(hungUp).toBeGreaterThan(0);
    await pause(1500);
    for (let i = 0; i < 5; i++) expect((await edge.call(PATH, { key: other })).status).toBe(200);
  } finally {
    agent.destroy();
    await edge.stop();
  }
});
