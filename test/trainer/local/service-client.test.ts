import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callService, expectStatus } from "../../../trainer/local/service-client.ts";

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    if (request.url === "/reset") request.socket.destroy();
    else if (request.url !== "/silence")
      response.end(JSON.stringify({ method: request.method, key: request.headers["x-api-key"], body }));
  });
});
let edgeUrl: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  edgeUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
const service = (signal = new AbortController().signal) => ({ edgeUrl, apiKey: "rk_key", signal });

test("sends key and body and parses the JSON answer", async () => {
  const answer = await callService(service(), "POST", "/v0/models", { a: 1 });
  expect(answer.body).toEqual({ method: "POST", key: "rk_key", body: '{"a":1}' });
});

test("a missing answer is reported in one sentence", async () => {
  await expect(callService(service(), "GET", "/reset")).rejects.toThrow(/^GET \/reset failed: .*\.$/);
});

test("aborting the signal ends the call", async () => {
  const stop = new AbortController();
  const call = callService(service(stop.signal), "GET", "/silence");
  stop.abort(new Error("Stopped."));
  await expect(call).rejects.toThrow("Stopped.");
});

test("a problem is reported with its detail", () => {
  const answer = { status: 400, headers: new Headers(), body: { detail: "/schema/user/id is required" } };
  expect(() => expectStatus(answer, 200)).toThrow("The service answered 400: /schema/user/id is required");
  expect(expectStatus({ ...answer, status: 200 }, 200)).toBe(answer.body);
});
