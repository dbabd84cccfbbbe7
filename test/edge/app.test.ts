import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createApp, ROUTES } from "../../edge/app.ts";
import { formatApiKey, hashApiKey } from "../../shared/api-key.ts";
import { keyRecordKey } from "../../shared/key-record.ts";
import { memoryBucket } from "../fixtures/edge-bucket.ts";
import { sendRaw } from "../fixtures/edge-trainer.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const ORIGIN = "https://shop.example";
let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { CORS_ORIGINS: `${ORIGIN},https://other.example` } });
  await edge.publish();
});
afterAll(() => edge.stop());

const addressOf = (path: string) => path.replace(":model_name", "shop").replace(":version", "v1");
const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code;

test.each(Object.entries(ROUTES).map(([path, methods]) => [path, Object.keys(methods).join(", ")]))(
  "%s answers %s only",
  async (path, allow) => {
    const methods = path === "/v0/users/erase" ? [] : ["DELETE"]; // it also deletes the user whose id is erase
    for (const method of ["GET", "POST", "PUT", "PATCH", ...methods].filter(
      (method) => !allow.split(", ").includes(method),
    )) {
      const answer = await edge.call(addressOf(path!), { method });
      expect([answer.status, answer.headers.get("allow"), await codeOf(answer)]).toEqual([
        405,
        allow,
        "method_not_allowed",
      ]);
    }
  },
);
test.each([
  "/",
  "/v0",
  "/v1/models",
  "/v0/models/",
  "/v0/models/shop/rank/",
  "/v0/models/shop/unknown",
  "/favicon.ico",
  "/%ff",
])("%s is not found, as a problem in JSON", async (path) => {
  const answer = await edge.call(path);
  expect([answer.status, await codeOf(answer)]).toEqual([404, "not_found"]);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
});

test("the refusals of a missing and of an invalid key have the same length", async () => {
  const answers = await Promise.all([
    edge.call("/v0/models/shop/rank", { key: null }),
    edge.call("/v0/models/shop/rank", { key: "junk" }),
    edge.call("/v0/models/shop/rank", { key: `rk_${"A".repeat(36)}` }),
  ]);
  const bodies = await Promise.all(answers.map((answer) => answer.text()));
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  expect(bodies.map((body) => JSON.parse(body).code)).toEqual([
    "missing_api_key",
    "invalid_api_key",
    "invalid_api_key",
  ]);
  expect(new Set(bodies.map((body) => body.length)).size).toBe(1);
});
test("a key needs the scope rank to rank and manage to manage, also for a model that is named rank", async () => {
  const { key: manages } = await edge.issueKey({ scopes: ["manage"] });
  const { key: ranks } = await edge.issueKey({ scopes: ["rank"] });
  expect(await codeOf(await edge.call("/v0/models/shop/rank", { key: manages }))).toBe("insufficient_scope");
  expect(await codeOf(await edge.call("/v0/models/rank", { key: ranks }))).toBe("insufficient_scope");
  expect((await edge.call("/v0/models/shop/rank", { key: ranks })).status).toBe(200);
});

test("a well-formed request id of the caller is kept, any other is replaced", async () => {
  const idOf = async (id: string) =>
    (await edge.call("/health/live", { headers: { "x-request-id": id } })).headers.get("x-request-id");
  expect(await idOf("trace-0001.a_b")).toBe("trace-0001.a_b");
  for (const id of ["short", "x".repeat(129), 'with"quote', "sp ace sp ace"])
    expect(await idOf(id)).toMatch(/^[0-9a-f-]{36}$/);
});
test("HEAD answers as GET, without a body", async () => {
  const answer = await edge.call("/v0/models/shop/rank", { method: "HEAD" });
  expect([answer.status, await answer.text()]).toEqual([200, ""]);
});

test("pages of allowed origins can call and read the headers", async () => {
  const preflight = await edge.call("/v0/models/shop/rank", {
    method: "OPTIONS",
    key: null,
    headers: { origin: ORIGIN, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key" },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  expect(preflight.headers.get("access-control-allow-headers")).toContain("x-api-key");
  const answer = await edge.call("/v0/models/shop/rank", { headers: { origin: ORIGIN } });
  expect(answer.headers.get("access-control-allow-origin")).toBe(ORIGIN);
  expect(answer.headers.get("access-control-expose-headers")).toContain("x-rank-id");
  const refused = await edge.call("/v0/models/shop/rank", { key: "junk", headers: { origin: ORIGIN } });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, ORIGIN]);
});
test("pages of other origins cannot", async () => {
  const answer = await edge.call("/v0/models/shop/rank", { headers: { origin: "https://evil.example" } });
  expect(answer.headers.get("access-control-allow-origin")).toBeNull();
});
test("without allowed origins no CORS header is sent", async () => {
  const app = createApp({} as never);
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} } as unknown as ExecutionContext;
  const answer = await app.request(
    "/health/live",
    { headers: { origin: ORIGIN } },
    { MODELS: {} as R2Bucket },
    context,
  );
  expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
});

const KEY = formatApiKey(new Uint8Array(64));
/** The answer of a Worker whose bucket has the record of one key, and how many objects were read. */
async function answerWith(limiters: { RATE_LIMIT?: unknown; UNKNOWN_KEY_LIMIT?: unknown }, key: string) {
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} } as unknown as ExecutionContext;
  const record = JSON.stringify({
    format: 1,
    key_id: "abcdef012345",
    customer: "acme",
    scopes: ["rank"],
    created_at: "2026-01-01T00:00:00Z",
    expires_at: null,
    revoked_at: null,
  });
  const { bucket, reads } = memoryBucket(new Map([[keyRecordKey(await hashApiKey(KEY)), record]]));
  const headers = { "x-api-key": key, "cf-connecting-ip": "192.0.2.1" };
  const env = { MODELS: bucket, ...limiters };
  const answer = await createApp({} as never).request("/v0/models/shop/rank", { headers }, env, context);
  return { code: await codeOf(answer), retryAfter: answer.headers.get("retry-after"), reads: reads.length };
}

test("a rate limiter that fails refuses nobody", async () => {
  const failing = { limit: () => Promise.reject(new Error("down")) };
  const answer = await answerWith({ RATE_LIMIT: failing, UNKNOWN_KEY_LIMIT: failing }, KEY);
  expect(answer.code).toBe("model_not_found");
});
test("an address that has sent too many unknown keys is refused before anything is read", async () => {
  const addresses: string[] = [];
  const limiter = {
    async limit({ key }: { key: string }) {
      addresses.push(key);
      return { success: false };
    },
  };
  const answer = await answerWith({ UNKNOWN_KEY_LIMIT: limiter }, formatApiKey(new Uint8Array(64).fill(7)));
  expect(answer).toEqual({ code: "rate_limited", retryAfter: "60", reads: 0 });
  expect((await answerWith({ UNKNOWN_KEY_LIMIT: limiter }, "junk")).code).toBe("invalid_api_key");
  expect(addresses).toEqual(["192.0.2.1"]);
});

test.each([
  [0, ["/health/ready 503"]],
  [1, ["/health/live 200", "/health/ready 503"]],
])("with LOG_SAMPLE_RATE %d, answers of 500 and above are logged in any case", async (LOG_SAMPLE_RATE, expected) => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} } as unknown as ExecutionContext;
  const MODELS = memoryBucket(new Map([["health", () => Promise.reject(new Error("down"))]])).bucket;
  for (const path of ["/health/live", "/health/ready"])
    await createApp({} as never).request(path, {}, { MODELS, LOG_SAMPLE_RATE }, context);
  vi.restoreAllMocks();
  const requests = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "request");
  expect(requests.map(({ path, status }) => `${path} ${status}`)).toEqual(expected);
});

test("a wrong variable is answered with 500, and the log names it", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  const context = { waitUntil() {}, passThroughOnException() {}, props: {} } as unknown as ExecutionContext;
  const env = { MODELS: {} as R2Bucket, CACHE_MEGABYTES: "lots" };
  const answer = await createApp({} as never).request("/health/live", {}, env, context);
  vi.restoreAllMocks();
  expect([answer.status, await codeOf(answer)]).toEqual([500, "internal"]);
  expect(lines.join()).toContain("CACHE_MEGABYTES");
});

const statusOf = async (path: string) => (await edge.call(path, { key: null })).status;

test("live and ready answer without a key", async () => {
  expect(await statusOf("/health/live")).toBe(200);
  expect(await statusOf("/health/ready")).toBe(200);
});
test("the running Worker has nothing of Node's API, and in tests its clocks advance only with I/O", async () => {
  const answer = await fetch(`${edge.url}/test/runtime`);
  expect(await answer.json()).toEqual({
    process: "undefined",
    buffer: "undefined",
    hasNodeModules: false,
    isFrozen: true,
    advances: true,
  });
});
test("while the bucket fails, the Worker is live and not ready", async () => {
  await edge.inject({ keys: "health", kind: "error" });
  await expect.poll(() => statusOf("/health/ready")).toBe(503);
  expect(await statusOf("/health/live")).toBe(200);
  await Promise.all(Array.from({ length: 20 }, () => statusOf("/health/ready")));
  expect(await edge.inject(undefined)).toBeLessThan(20); // anybody may call
  await expect.poll(() => statusOf("/health/ready")).toBe(200);
});

test("hostile requests are refused, never answered with a 5xx", async () => {
  const { key } = await edge.issueKey();
  const host = new URL(edge.url).host;
  const raw = (start: string, more = "") =>
    sendRaw(edge.url, `${start} HTTP/1.1\r\nhost: ${host}\r\nx-api-key: ${key}\r\n${more}\r\n`);
  const lines = await Promise.all([
    raw("GET /v0/models/%E0%A4%A/rank"),
    raw("GET /v0/models/shop/rank?user_id=%00"),
    raw("GET /v0/models/shop/rank?%"),
    raw("GET //v0/models/shop/rank"),
    raw("GET /v0/models/../../keys/rank"),
    raw("POST /v0/models/shop/rank", "content-type: application/json\r\ncontent-length: 0\r\n"),
    raw(`GET /v0/models/${"a".repeat(5000)}/rank`),
    raw("BREW /v0/models/shop/rank"),
  ]);
  for (const line of lines) expect(line).toMatch(/^HTTP\/1\.1 (200|4\d\d|501) /);
});
test("a body with broken chunks is the caller's fault, and logs no error", async () => {
  const { key } = await edge.issueKey();
  const head = `host: edge\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked`;
  const sent = `POST /v0/models/shop/rank HTTP/1.1\r\n${head}\r\n\r\nno chunk\r\n`;
  const before = edge.log.length;
  expect(await sendRaw(edge.workerUrl, sent)).toBe("HTTP/1.1 400 Bad Request");
  expect(edge.log.slice(before).join()).not.toContain("request_failed");
});

test("no API key is ever in the log", async () => {
  const { key } = await edge.issueKey();
  await edge.call("/v0/models/shop/rank?user_id=ann", { key });
  await edge.call(`/v0/models/shop/rank?user_id=${key}`, { key });
  await edge.call("/v0/models", { key });
  await edge.call(`/v0/models/${key}/rank`, { key });
  await edge.call(`/${key}`, { key: `${key}x` });
  await expect.poll(() => edge.log.length).toBeGreaterThan(3);
  expect(edge.log.join("\n")).not.toContain(key);
  for (const line of edge.log) expect(() => JSON.parse(line)).not.toThrow();
});
