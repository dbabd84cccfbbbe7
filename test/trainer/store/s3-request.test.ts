import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { StoreError } from "../../../trainer/store/object-store.ts";
import { type S3Options, s3Request } from "../../../trainer/store/s3-request.ts";
import { s3Store } from "../../../trainer/store/s3-store.ts";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A server that gives these answers, one a request, the last one for ever; and how many it has given. */
async function startServer(...answers: Answer[]): Promise<{ options: S3Options; count(): number }> {
  let count = 0;
  const server = createServer((request, response) => {
    const answer = answers[Math.min(count++, answers.length - 1)]!;
    request.resume().on("end", () => answer(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = { accessKeyId: "id", secretAccessKey: "hunter2" };
  return { options: { endpoint, bucket: "bucket", ...keys, backoffMs: 1 }, count: () => count };
}

const ok: Answer = (_, response) => response.writeHead(200, { etag: '"e"' }).end("fine");
const status =
  (code: number, text = ""): Answer =>
  (_, response) =>
    response.writeHead(code).end(text);
const reset: Answer = (request) => request.socket.destroy();
const resetMidBody: Answer = (request, response) => {
  response.writeHead(200, { "content-length": "100" }).write("half");
  setImmediate(() => request.socket.destroy());
};
const silence: Answer = () => {};
const get = { method: "GET", key: "a" } as const;

test.each([
  ["500", status(500)],
  ["503", status(503, "<Error><Code>SlowDown</Code></Error>")],
  ["429", status(429)],
  ["a reset connection", reset],
  ["a connection reset in mid-body", resetMidBody],
])("%s is retried", async (_, failure) => {
  const server = await startServer(failure, failure, ok);
  const answer = await s3Request(server.options)(get);
  expect(new TextDecoder().decode(answer.bytes)).toBe("fine");
  expect(server.count()).toBe(3);
  expect(answer.lostAnswers).toBe(2);
});

const error = (code: number, name: string) => status(code, `<Error><Code>${name}</Code></Error>`);

test("a write that collided with another one is retried", async () => {
  const conflict = error(409, "ConditionalRequestConflict");
  const free = await startServer(conflict, ok);
  await s3Store(free.options).putIfAbsent("a", new Uint8Array(1), "text/plain");
  expect(free.count()).toBe(2);
  const swapped = await startServer(conflict, ok);
  expect(await s3Store(swapped.options).swap("live.json", new Uint8Array(1), "old")).toBe("e");
  const taken = await startServer(conflict, status(412), ok);
  expect(await s3Store(taken.options).swap("live.json", new Uint8Array(1), "old")).toBeUndefined();
});

test("a body that was too slow is sent again", async () => {
  const server = await startServer(error(400, "RequestTimeout"), ok);
  await s3Store(server.options).putIfAbsent("a", new Uint8Array(1), "text/plain");
  expect(server.count()).toBe(2);
  const wrong = await startServer(error(400, "InvalidArgument"), ok);
  await expect(s3Store(wrong.options).putIfAbsent("a", new Uint8Array(1), "text/plain")).rejects.toThrow(
    "InvalidArgument",
  );
});

test("a file whose upload breaks off is sent again from its beginning", async () => {
  const received: number[] = [];
  const counting: Answer = (request, response) => {
    received.push(Number(request.headers["content-length"]));
    (received.length === 1 ? reset : ok)(request, response);
  };
  const server = await startServer(counting);
  await s3Store(server.options).putIfAbsent("a", new Blob([new Uint8Array(100_000)]), "text/plain");
  expect(received).toEqual([100_000, 100_000]);
});

test("an object whose content looks like an error is read as an object", async () => {
  const server = await startServer(error(200, "InternalError"));
  expect(await s3Store(server.options).get("a")).toBeDefined();
});

test("the attempts are bounded, and the thrown failure does not contain the secret", async () => {
  const server = await startServer(status(503, "<Error><Code>SlowDown</Code><Message>Later.</Message></Error>"));
  const failure = (await s3Request({ ...server.options, attempts: 3 })(get).catch((e) => e)) as StoreError;
  expect(failure).toBeInstanceOf(StoreError);
  expect(failure.retryable).toBe(true);
  expect(failure.message).toMatch(/GET a .*503 SlowDown: Later/);
  expect(failure.message).not.toContain("hunter2");
  expect(server.count()).toBe(3);
});

test("a silent server ends the attempt at its timeout", async () => {
  const server = await startServer(silence, ok);
  const answer = await s3Request({ ...server.options, deadlineMs: 500 })(get);
  expect(answer.lostAnswers).toBe(1);
});

test("concurrent calls have the time that all of them need together", async () => {
  const slow: Answer = (request, response) => void setTimeout(() => ok(request, response), 1000);
  const server = await startServer(slow);
  const request = s3Request({ ...server.options, deadlineMs: 100, attempts: 3 });
  const put = () => request({ method: "PUT", key: "a", body: new Uint8Array(600_000) });
  const answers = await Promise.all([put(), put(), put()]); // 1.8 MB in 1 s, of 1.9 s
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200]);
  await expect(put()).rejects.toThrow("no answer within");
});

test("an abort ends the request", async () => {
  const stop = new AbortController();
  const server = await startServer(() => stop.abort(new Error("stopped")));
  await expect(s3Request({ ...server.options, signal: stop.signal })(get)).rejects.toThrow("stopped");
  expect(server.count()).toBe(1);
});

test("an error of the caller is not retried", async () => {
  const server = await startServer(status(403, "<Error><Code>AccessDenied</Code></Error>"));
  expect((await s3Request(server.options)(get)).status).toBe(403);
  expect(server.count()).toBe(1);
});

test("a swap whose answer was lost is recognised as successful", async () => {
  const mine = new TextEncoder().encode('{"version":"mine"}');
  const read: Answer = (_, response) => response.writeHead(200, { etag: '"mine"' }).end(mine);
  const won = await startServer(reset, status(412), read);
  expect(await s3Store(won.options).swap("live.json", mine, "old")).toBe("mine");
  const lost = await startServer(reset, status(412), ok);
  expect(await s3Store(lost.options).swap("live.json", mine, "old")).toBeUndefined();
});

test("a 404 of the store means absent, a 404 of a proxy does not", async () => {
  const absent = await startServer(error(404, "NoSuchKey"));
  expect(await s3Store(absent.options).get("customers/acme/erased-users")).toBeUndefined();
  expect(await s3Store(absent.options).swap("live.json", new Uint8Array(1), "old")).toBeUndefined();
  const lost = await startServer(status(404, "<html>Not found</html>"));
  await expect(s3Store(lost.options).get("customers/acme/erased-users")).rejects.toThrow("404");
});

test("an answer that is no list is an error, not an empty list", async () => {
  const server = await startServer(status(200, "<html>Back soon</html>"));
  await expect(Array.fromAsync(s3Store(server.options).list("models/"))).rejects.toThrow("no list of models/");
});

test("a signed request names its bucket and key and does not contain the secret", async () => {
  let seen: IncomingMessage | undefined;
  const server = await startServer((request, response) => {
    seen = request;
    ok(request, response);
  });
  await s3Store(server.options)
    .get("models/a/b", { offset: 2, length: 3 })
    .catch(() => undefined);
  expect(seen!.url).toBe("/bucket/models/a/b");
  expect(seen!.headers.range).toBe("bytes=2-4");
  expect(seen!.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=id\/\d{8}\/auto\/s3\/aws4_request/);
  expect(JSON.stringify(seen!.headers)).not.toContain("hunter2");
});
