import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type HttpCaller, httpCaller, wholeAnswer } from "./http-caller.ts";

let server: Server;
let caller: HttpCaller;
let connections = 0;
beforeAll(async () => {
  server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const { method, url } = request;
    const text = JSON.stringify({
      method,
      url,
      key: request.headers["x-api-key"],
      body: Buffer.concat(parts).toString(),
    });
    if (url === "/broken") return void response.socket!.end("HTTP/1.1 200 OK\r\n");
    if (url === "/lost") return response.socket!.destroy();
    if (url !== "/chunked") response.setHeader("content-length", Buffer.byteLength(text));
    response.setHeader("x-path", url!);
    response.statusCode = url === "/refused" ? 400 : 200;
    for (const character of text) response.write(character);
    response.end();
  }).on("connection", () => connections++);
  await once(server.listen(0, "127.0.0.1"), "listening");
  caller = httpCaller(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(() => {
  caller.close();
  server.close();
});

test("what is asked arrives, what is answered comes whole, on one connection", async () => {
  const headers = { "x-api-key": "rk_1" };
  for (const [path, body, status] of [
    ["/a?b=ü", undefined, 200],
    ["/chunked", { grüße: ["😀"] }, 200],
    ["/refused", {}, 400],
  ] as const) {
    const answer = await caller.call(encodeURI(path), { headers, body });
    expect(answer.status).toBe(status);
    expect([answer.header("x-path"), answer.header("x-none")]).toEqual([encodeURI(path), undefined]);
    expect(JSON.parse(answer.text)).toEqual({
      method: body ? "POST" : "GET",
      url: encodeURI(path),
      key: "rk_1",
      body: body ? JSON.stringify(body) : "",
    });
  }
  expect(connections).toBe(1);
});
test("calls at once have connections of their own", async () => {
  const answers = await Promise.all(["/1", "/2", "/3"].map((path) => caller.call(path)));
  expect(answers.map(({ text }) => JSON.parse(text).url)).toEqual(["/1", "/2", "/3"]);
});
test.each(["/broken", "/lost"])(
  "a connection that ends within an answer fails its call, and the next call has a new one: %s",
  async (path) => {
    await expect(caller.call(path)).rejects.toThrow("ended within an answer");
    expect((await caller.call("/")).status).toBe(200);
  },
);
test("a kept connection that the server has ended meanwhile is replaced", async () => {
  await caller.call("/");
  server.closeAllConnections();
  expect((await caller.call("/")).status).toBe(200); // the client may not have noticed yet
  server.closeAllConnections();
  await new Promise((done) => setTimeout(done, 50));
  expect((await caller.call("/")).status).toBe(200);
});
test("an answer is whole at its last byte and not before", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme", minLength: 1 })), fc.boolean(), (parts, isChunked) => {
      const text = parts.join("");
      const chunks = parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`).join("");
      const head = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${Buffer.byteLength(text)}`;
      const whole = Buffer.from(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${isChunked ? `${chunks}0\r\n\r\n` : text}`);
      expect(wholeAnswer(whole)).toMatchObject({ status: 200, text });
      expect(wholeAnswer(whole.subarray(0, -1))).toBe(undefined);
    }),
  );
});
