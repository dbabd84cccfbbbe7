import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ObjectStore, StoreError } from "../../../../trainer/store/object-store.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { startHarness } from "../../../fixtures/trainer-harness.ts";

let harness: Awaited<ReturnType<typeof startHarness>>;
let storeFails: Error | undefined;
beforeAll(async () => {
  const store = memoryStore();
  const list: ObjectStore["list"] = (prefix) => {
    if (storeFails) throw storeFails;
    return store.list(prefix);
  };
  harness = await startHarness({ store: { ...store, list } });
});
afterAll(() => harness.stop());

const get = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${harness.port}${path}`, init);

test("health needs no signature", async () => {
  expect([(await get("/health/live")).status, (await get("/health/ready")).status]).toEqual([200, 200]);
});

test("every other path needs a signature, and an error is problem+json with the request id", async () => {
  const response = await get("/v0/models", { headers: { "x-request-id": "request-0123" } });
  expect(response.status).toBe(401);
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(response.headers.get("x-request-id")).toBe("request-0123");
  expect(await response.json()).toMatchObject({
    status: 401,
    code: "invalid_api_key",
    request_id: "request-0123",
    error: "The request is not signed by the edge.",
  });
});

test("a request id that could break a log line is replaced", async () => {
  const id = (await get("/v0/models", { headers: { "x-request-id": "a b\tc" } })).headers.get("x-request-id");
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
});

test("the trace of a call is in its line of the log", async () => {
  const id = "4bf92f3577b34da6a3ce929d0e0e4736";
  await get("/v0/models/traced", { headers: { traceparent: `00-${id}-00f067aa0ba902b7-01` } });
  expect(harness.logs.find(({ path }) => path === "/v0/models/traced")).toMatchObject({ trace_id: id });
});

describe("a signed request", () => {
  test("with the scope rank only is refused", async () => {
    expect(await harness.call("GET", "/v0/models", { scopes: "rank" })).toMatchObject({
      status: 403,
      body: { code: "insufficient_scope" },
    });
  });

  test.each([
    ["GET", "/v0/nothing", 404, "not_found"],
    ["GET", "/", 404, "not_found"],
    ["GET", "/v0/models/absent", 404, "model_not_found"],
    ["GET", "/v0/models/absent/versions", 404, "model_not_found"],
    ["GET", "/v0/models/absent/runs", 404, "model_not_found"],
    ["GET", "/v0/models/absent/evaluation", 404, "model_not_found"],
    ["POST", "/v0/models/absent/train", 404, "model_not_found"],
    ["POST", "/v0/models/absent/versions/v1/activate", 404, "model_not_found"],
    ["DELETE", "/v0/models/absent", 404, "model_not_found"],
    ["GET", "/v0/models/%2e%2e%2fother", 404, "model_not_found"],
    ["GET", "/v0/models/a%00b", 404, "model_not_found"],
    ["DELETE", "/v0/models/%ED%A0%80", 404, "model_not_found"],
    ["POST", "/v0/models/a%00b/train", 404, "model_not_found"],
    ["GET", `/v0/models?cursor=${Buffer.from('[1,"a\\u0000"]').toString("base64url")}`, 400, "invalid_parameter"],
    ["PUT", "/v0/models", 405, "method_not_allowed"],
    ["POST", "/v0/models/absent", 405, "method_not_allowed"],
  ])("%s %s is %i %s", async (method, path, status, code) => {
    expect(await harness.call(method, path)).toMatchObject({ status, body: { status, code } });
  });

  test("with a wrong method gets the allowed ones", async () => {
    const { headers } = await harness.call("PUT", "/v0/models/absent");
    expect(headers.get("allow")).toBe("GET, PATCH, DELETE");
  });

  test("with too large a body is refused, with and without content-length", async () => {
    const answer = await harness.call("POST", "/v0/models", { body: "x".repeat(262_145) });
    expect(answer).toMatchObject({ status: 413, body: { code: "body_too_large" } });
  });

  test("with another media type than JSON is refused", async () => {
    const options = { body: "{}", headers: { "content-type": "text/plain" } };
    expect(await harness.call("POST", "/v0/models", options)).toMatchObject({ status: 415 });
  });

  test("gets an answer that must not be cached", async () => {
    expect((await harness.call("GET", "/v0/models")).headers.get("cache-control")).toBe("no-store");
  });

  test("learns nothing about internal errors and the store's errors, which go to the log", async () => {
    await harness.create("shop", "wait");
    storeFails = new StoreError("bucket of hunter2 is gone");
    const unavailable = await harness.call("GET", "/v0/models/shop/versions");
    expect(unavailable).toMatchObject({ status: 503, body: { code: "artifact_unavailable" } });
    expect(unavailable.headers.get("retry-after")).toBe("5");
    storeFails = new Error("password=hunter2");
    const internal = await harness.call("GET", "/v0/models/shop/versions");
    expect(internal).toMatchObject({ status: 500, body: { code: "internal" } });
    storeFails = undefined;
    expect(JSON.stringify([unavailable.body, internal.body])).not.toContain("hunter2");
    expect(JSON.stringify(harness.logs)).toContain("password=hunter2");
  });

  test("is one line of the log", async () => {
    const before = harness.logs.length;
    await harness.call("GET", "/v0/models/absent", { customer: "lone" });
    const entries = harness.logs.slice(before).filter(({ event }) => event === "request");
    expect(entries).toEqual([
      expect.objectContaining({
        method: "GET",
        path: "/v0/models/absent",
        status: 404,
        customer: "lone",
        key_id: "testkey00",
      }),
    ]);
  });
});

test("a caller who sends half a request is disconnected, and others are not affected", async () => {
  const socket = connect(harness.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write("POST /v0/models HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{");
  expect((await harness.call("GET", "/v0/models")).status).toBe(200);
  socket.destroy();
});
