import { type RequestOptions, request } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { problemsOf } from "../../edge/openapi.ts";
import { CALLS as OPEN_API_CALLS } from "../../edge/openapi-calls.ts";
import { MANAGEMENT_BODY_BYTES_MAX } from "../../shared/api.ts";
import { type ForwardTrainer, sendRaw, startForwardTrainer } from "../fixtures/edge-trainer.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
let trainer: ForwardTrainer;
beforeAll(async () => {
  trainer = await startForwardTrainer();
  edge = await startEdge({ vars: { TRAINER_URL: trainer.url, TRAINER_TIMEOUT_SECONDS: 1 } });
});
afterAll(async () => {
  await edge?.stop();
  await trainer?.stop();
});
beforeEach(() => trainer.answer({}));

/** The status of a request that may have a body with GET, which fetch refuses to send. */
const raw = (url: string, options: RequestOptions, body: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    const call = request(url, options, (answer) => {
      answer.resume();
      answer.once("end", () => resolve(answer.statusCode));
    });
    call.once("error", reject);
    call.end(body);
  });

const CALLS = [
  ["GET", "/v0/models?limit=2&status=ACTIVE"],
  ["POST", "/v0/models?dry_run=true"],
  ["GET", "/v0/models/shop"],
  ["PATCH", "/v0/models/shop"],
  ["DELETE", "/v0/models/shop"],
  ["POST", "/v0/models/shop/train"],
  ["GET", "/v0/models/shop/versions"],
  ["POST", "/v0/models/shop/versions/v1/activate"],
  ["GET", "/v0/models/shop/evaluation"],
  ["POST", "/v0/models/shop/evaluation"],
] as const;

test.each(CALLS)("%s %s arrives as it was sent, signed, without the API key", async (method, path) => {
  const { key, keyId } = await edge.issueKey({ customer: "globex" });
  const body = method === "GET" ? undefined : '{"a":"ä"}';
  const headers = { "x-request-id": "request-0001", "idempotency-key": "once" };
  const answer = await edge.call(path, { method, key, headers, ...(body === undefined ? {} : { body }) });
  expect(answer.status).toBe(200);
  const got = trainer.received.at(-1)!;
  expect(got).toMatchObject({
    method,
    url: path,
    body: body ?? "",
    caller: { customer: "globex", keyId, scopes: ["rank", "events", "manage"] },
  });
  expect(got.headers.get("idempotency-key")).toBe("once");
  expect(got.headers.get("x-request-id")).toBe("request-0001");
  expect([...got.headers.values()].join()).not.toContain(key);
});
test("the body of a GET is ignored", async () => {
  const headers = { "content-type": "application/json", "content-length": "2" };
  const { key } = await edge.issueKey();
  const answer = await raw(`${edge.url}/v0/models`, { method: "GET", headers: { ...headers, "x-api-key": key } }, "{}");
  expect(answer).toBe(200);
  expect(trainer.received.at(-1)).toMatchObject({ method: "GET", body: "" });
});
test("a name with percent-encoded characters arrives unchanged, so its signature is valid", async () => {
  expect((await edge.call("/v0/models/caf%C3%A9%2F..%20x?status=%41")).status).toBe(200);
  expect(trainer.received.at(-1)!.url).toBe("/v0/models/caf%C3%A9%2F..%20x?status=%41");
});
test("no path leads a signed request to another host or another call", async () => {
  const elsewhere = await startForwardTrainer();
  try {
    const [{ key }, { host }] = [await edge.issueKey(), new URL(elsewhere.url)];
    const up = "..\\";
    const head = `host: edge\r\nx-api-key: ${key}\r\ncontent-length: 0\r\n\r\n`;
    const before = trainer.requestCount();
    for (const call of [
      `GET /v0/models/${up}${up}\\${host}`,
      `POST /v0/models/x/versions/${up.repeat(4)}\\${host}\\x/activate`,
      `DELETE /v0/models/${up}users\\bob`,
    ])
      expect(await sendRaw(edge.workerUrl, `${call} HTTP/1.1\r\n${head}`)).toBe("HTTP/1.1 404 Not Found");
    expect([trainer.requestCount() - before, elsewhere.requestCount()]).toEqual([0, 0]);
    expect(await sendRaw(edge.workerUrl, `GET /v0/models/%2e%2e/ HTTP/1.1\r\n${head}`)).toBe("HTTP/1.1 404 Not Found");
  } finally {
    await elsewhere.stop();
  }
});
test("the answer is returned with the headers that are meant for the caller", async () => {
  trainer.answer({
    status: 201,
    headers: {
      "content-type": "application/json",
      location: "/v0/models/x",
      "x-powered-by": "secret",
      "set-cookie": "a=b",
    },
    body: '{"model_name":"x"}',
  });
  const answer = await edge.call("/v0/models", { body: {}, headers: { "x-request-id": "request-0002" } });
  expect([answer.status, await answer.json()]).toEqual([201, { model_name: "x" }]);
  expect(answer.headers.get("location")).toBe("/v0/models/x");
  expect(answer.headers.get("x-request-id")).toBe("request-0002");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("x-powered-by") ?? answer.headers.get("set-cookie")).toBeNull();
});
test("a caller's trace reaches the trainer and the log; what is no trace does not", async () => {
  const id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const traceparent = `00-${id}-00f067aa0ba902b7-01`;
  await edge.call("/v0/models/traced", { headers: { traceparent } });
  expect(trainer.received.at(-1)!.headers.get("traceparent")).toBe(traceparent);
  await expect.poll(() => edge.log.join("\n")).toMatch(new RegExp(`"trace_id":"${id}".*traced`));
  await edge.call("/v0/models/untraced", { headers: { traceparent: `00-${"0".repeat(32)}-x-01` } });
  expect(trainer.received.at(-1)!.headers.get("traceparent")).toBeNull();
});
test("the trainer's problems are returned unchanged", async () => {
  const body = '{"code":"model_exists"}';
  trainer.answer({ status: 409, headers: { "content-type": "application/problem+json" }, body });
  const answer = await edge.call("/v0/models", { body: {} });
  expect([answer.status, await answer.text()]).toEqual([409, body]);
});
test("a body of 256 KiB is accepted, one byte more is not", async () => {
  const body = "x".repeat(MANAGEMENT_BODY_BYTES_MAX);
  expect((await edge.call("/v0/models", { body })).status).toBe(200);
  expect(trainer.received.at(-1)!.body).toBe(body);
  const received = trainer.received.length;
  const refused = await edge.call("/v0/models", { body: `${body}x` });
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([413, "body_too_large"]);
  expect(trainer.received.length).toBe(received);
});
test.each(["x".repeat(256), "é", "two words"])(
  "an Idempotency-Key that cannot be signed as sent is refused: %.9s",
  async (sent) => {
    const answer = await edge.call("/v0/models", { body: {}, headers: { "idempotency-key": sent } });
    expect(await answer.json()).toMatchObject({ status: 400, code: "invalid_parameter" });
  },
);
test("the problems that the edge itself finds in a management call are documented for that call", async () => {
  const { key } = await edge.issueKey();
  const answeredHere = ["viewUserEvents", "viewLive"];
  for (const call of OPEN_API_CALLS.filter(({ scope, id }) => scope === "manage" && !answeredHere.includes(id))) {
    const [method, path] = [call.method.toUpperCase(), call.path.replaceAll(/[{}]/g, "")];
    const unsigned = await edge.call(path, { method, key, headers: { "idempotency-key": "two words" } });
    expect(problemsOf(call)).toContain(((await unsigned.json()) as { code: string }).code);
    if (method === "GET") continue;
    const head = `host: edge\r\nx-api-key: ${key}\r\ntransfer-encoding: chunked\r\n\r\n`;
    const line = await sendRaw(edge.workerUrl, `${method} ${path} HTTP/1.1\r\n${head}no chunk\r\n`);
    expect([line, problemsOf(call)]).toEqual(["HTTP/1.1 400 Bad Request", expect.arrayContaining(["invalid_json"])]);
  }
});
test("a key without the scope manage is refused without asking the trainer", async () => {
  const { key } = await edge.issueKey({ scopes: ["rank"] });
  const received = trainer.received.length;
  const answer = await edge.call("/v0/models", { key });
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([403, "insufficient_scope"]);
  expect(trainer.received.length).toBe(received);
});

test.each([
  [
    "a gateway's page",
    { status: 502, headers: { "content-type": "text/html" }, body: "<h1>Bad gateway at 10.0.0.7</h1>" },
  ],
  ["a redirect", { status: 302, headers: { "content-type": "application/json", location: "http://elsewhere" } }],
  ["its own refusal of the edge", { status: 401, headers: { "content-type": "application/problem+json" } }],
  ["nothing at all", null],
])("when the trainer's address gives %s, management is unavailable", async (_, given) => {
  trainer.answer(given);
  const answer = await edge.call("/v0/models");
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "10"]);
  const text = await answer.text();
  expect(JSON.parse(text)).toMatchObject({ code: "trainer_unavailable" });
  expect(text).not.toMatch(/10\.0\.0\.7|elsewhere/);
});

test.each([301, 302, 307, 308])("a redirect with %d is not followed, since the request is signed", async (status) => {
  const elsewhere = await startForwardTrainer();
  try {
    const [before, location] = [trainer.received.length, `${elsewhere.url}/v0/models`];
    trainer.answer({ status, headers: { "content-type": "application/json", location } });
    expect((await edge.call("/v0/models")).status).toBe(503);
    expect([trainer.received.length - before, elsewhere.requestCount()]).toEqual([1, 0]);
  } finally {
    await elsewhere.stop();
  }
});

test("while the trainer is down, management is unavailable and ranking continues", async () => {
  await edge.publish();
  await trainer.stop();
  expect(await (await edge.call("/v0/models")).json()).toMatchObject({ code: "trainer_unavailable" });
  expect((await edge.call("/v0/models/shop/rank?user_id=ann")).status).toBe(200);
});
