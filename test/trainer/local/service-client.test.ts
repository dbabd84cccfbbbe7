import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectStatus, serviceClient } from "../../../trainer/local/service-client.ts";

const server = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    if (request.url === "/text") response.writeHead(502).end("bad gateway");
    else if (request.url === "/reset") request.socket.destroy();
    else if (request.url !== "/silence")
      response.end(JSON.stringify({ method: request.method, key: request.headers["x-api-key"], body }));
  });
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
const client = (signal = new AbortController().signal) => serviceClient(url, "rk_key", signal);

test("sends key and body and parses the JSON answer", async () => {
  const answer = await client().call("POST", "/v0/models", { a: 1 });
  expect(answer.body).toEqual({ method: "POST", key: "rk_key", body: '{"a":1}' });
});

test("an answer that is not JSON is returned as text", async () => {
  const answer = await client().call("GET", "/text");
  expect(answer).toMatchObject({ status: 502, body: "bad gateway" });
  expect(() => expectStatus(answer, 200)).toThrow("The service answered 502: bad gateway");
});

test("a missing answer is reported in one sentence", async () => {
  await expect(client().call("GET", "/reset")).rejects.toThrow(/^GET \/reset got no answer/);
});

test("aborting the signal ends the call", async () => {
  const stop = new AbortController();
  const call = client(stop.signal).call("GET", "/silence");
  stop.abort(new Error("Stopped."));
  await expect(call).rejects.toThrow("Stopped.");
});

test("a problem is reported with its detail and pointers", () => {
  const errors = [{ pointer: "/schema/user/id", message: "is required" }];
  const answer = { status: 400, headers: new Headers(), body: { detail: "The body is wrong.", errors } };
  expect(() => expectStatus(answer, 200)).toThrow("400: The body is wrong. (/schema/user/id is required)");
  expect(expectStatus({ ...answer, status: 200 }, 200, 201)).toBe(answer.body);
});
