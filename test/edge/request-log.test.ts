import { Hono } from "hono";
import { afterEach, expect, test, vi } from "vitest";
import type { EdgeEnv } from "../../edge/isolate.ts";
import { requestEntry, writeLog } from "../../edge/request-log.ts";

afterEach(() => vi.restoreAllMocks());

test("a line is one JSON object with its time", () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  writeLog({ event: "x", text: "two\nlines" });
  expect(lines.length).toBe(1);
  expect(JSON.parse(lines[0]!)).toEqual({ time: expect.any(String), event: "x", text: "two\nlines" });
});
test("a request's entry has its outcome and the key's id, but neither the key nor the query", async () => {
  const app = new Hono<EdgeEnv>();
  let entry: object = {};
  app.get("*", async (c) => {
    c.set("requestId", "r-1");
    c.set("caller", { keyId: "k-1", customer: "acme", scopes: ["rank"] });
    c.set("ranked", { strategy: "popular" });
    c.res = new Response(null, { status: 503 });
    entry = requestEntry(c, 12.6);
    return c.res;
  });
  await app.request(`/v0/models/${"x".repeat(500)}/rank?user_id=secret-user`, {
    headers: { "x-api-key": "rk_secret" },
  });
  expect(entry).toMatchObject({
    request_id: "r-1",
    status: 503,
    level: "error",
    waited_ms: 13,
    customer: "acme",
    key_id: "k-1",
    strategy: "popular",
  });
  expect(JSON.stringify(entry)).not.toMatch(/secret/);
  expect(JSON.stringify(entry).length).toBeLessThan(500);
});

test("an erased user's id is not in the entry", async () => {
  const app = new Hono<EdgeEnv>();
  let entry: object = {};
  app.all("*", (c) => {
    entry = requestEntry(c, 1);
    return c.body(null);
  });
  await app.request("/v0/users/planted-id", { method: "DELETE" });
  expect(entry).toMatchObject({ path: "/v0/users/…", method: "DELETE" });
});

test("an API key in the path is not in the entry, even where the path is cut", async () => {
  const app = new Hono<EdgeEnv>();
  let entry: object = {};
  app.all("*", (c) => {
    entry = requestEntry(c, 1);
    return c.body(null);
  });
  const key = `rk_${"A1".repeat(18)}`;
  for (let before = 150; before < 200; before++) {
    await app.request(`/${"x".repeat(before)}${key}/rank`);
    expect(JSON.stringify(entry)).not.toContain("A1");
  }
});
