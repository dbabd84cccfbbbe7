/** The public socket before workers that answer, break off, or are away. */
import { copyFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { freePort } from "../../../trainer/local/free-port.ts";
import { type Answered, openFront } from "../../../trainer/serve/front-server.ts";
import { freshFolder } from "../../fixtures/trainer-state.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function workerOf(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  closing.push(() => server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

async function frontOf(workers: readonly number[]) {
  const pages = await freshFolder();
  await copyFile(join(import.meta.dirname, "../../../edge/public/_headers"), join(pages, "_headers"));
  const counted: Answered[] = [];
  const onAnswer = (answer: Answered) => void counted.push(answer);
  const front = await openFront({ host: "127.0.0.1", port: 0, workers, pages, onAnswer });
  closing.push(() => front.close());
  const call = (init?: RequestInit) => fetch(`http://127.0.0.1:${front.port}/v0/models/shop/rank?limit=1`, init);
  return { call, counted };
}

test("an answer of a worker is counted once, with its headers", async () => {
  const worker = await workerOf((_, answer) => answer.writeHead(200, { "x-rank-strategy": "popular" }).end("[]"));
  const { call, counted } = await frontOf([await freePort(), worker]);
  expect((await call()).status).toBe(200); // by the second worker, since the first is away
  expect(counted).toMatchObject([{ method: "GET", status: 200, headers: { "x-rank-strategy": "popular" } }]);
});
test("a 503 of the socket's own is counted like one of a worker", async () => {
  const breaking = await workerOf((request) => request.socket.destroy());
  for (const port of [await freePort(), breaking]) {
    const { call, counted } = await frontOf([port]);
    const answer = await call();
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(counted).toMatchObject([{ method: "GET", path: "/v0/models/shop/rank?limit=1", status: 503 }]);
  }
});
test("a caller who leaves is no failure of the service", async () => {
  const leaving = new AbortController();
  const left = Promise.withResolvers<void>();
  const worker = await workerOf((request) => {
    request.once("close", () => left.resolve());
    leaving.abort();
  });
  const { call, counted } = await frontOf([worker]);
  await expect(call({ signal: leaving.signal })).rejects.toThrow("abort");
  await left.promise;
  await new Promise((done) => setImmediate(done));
  expect(counted).toEqual([]);
});
