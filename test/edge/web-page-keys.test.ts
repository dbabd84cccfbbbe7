/** API keys that web pages contain: who may use them, and for which user. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const ORIGIN = "https://shop.example";
const RANK = "/v0/models/shop/rank";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({
    vars: { CORS_ORIGINS: `${ORIGIN},https://other.example` },
    rateLimit: { limit: 15, period: 60 },
  });
  await edge.publish();
});
afterAll(() => edge?.stop());

const issue = (signsUsers: boolean) =>
  edge.issueKey({ scopes: ["rank", "events"], webPages: { origins: [ORIGIN], signsUsers } });
const signed = (user: string, secret: string) => createHmac("sha256", secret).update(user).digest("hex");

test("only pages of the key's origins may use it", async () => {
  const { key } = await issue(false);
  const status = async (origin?: string) =>
    (await edge.call(`${RANK}?user_id=ann`, { key, headers: origin === undefined ? {} : { origin } })).status;
  expect([await status(ORIGIN), await status("https://other.example"), await status()]).toEqual([200, 403, 403]);
  const answer = await edge.call(RANK, { key, headers: { origin: "https://other.example" } });
  expect(await answer.json()).toMatchObject({
    code: "origin_not_allowed",
    detail: "This API key is for web pages of https://shop.example; the request has another Origin.",
  });
  expect((await edge.call(RANK, { headers: { origin: "https://other.example" } })).status).toBe(200); // a secret key
});
test("a browser may send the signature", async () => {
  const headers = {
    origin: ORIGIN,
    "access-control-request-method": "POST",
    "access-control-request-headers": "x-user-signature",
  };
  const answer = await edge.call(RANK, { method: "OPTIONS", key: null, headers });
  expect(answer.headers.get("access-control-allow-headers")).toContain("x-user-signature");
  const exposed = (await edge.call(RANK, { headers: { origin: ORIGIN } })).headers.get("access-control-expose-headers");
  expect(exposed).toContain("x-events");
});
test("a key that signs users ranks and takes events for the signed user only", async () => {
  const { key, userSecret } = await issue(true);
  const call = (user: string, signature: string | undefined, path = `${RANK}?user_id=${user}`, body?: object) =>
    edge.call(path, {
      key,
      headers: { origin: ORIGIN, ...(signature && { "x-user-signature": signature }) },
      ...(body && { body }),
    });
  expect((await call("ann", signed("ann", userSecret!))).status).toBe(200);
  expect((await call("ann", signed("ann", userSecret!).toUpperCase())).status).toBe(200);
  expect((await call("ann", undefined, RANK)).status).toBe(200); // without a user
  for (const signature of [undefined, signed("bob", userSecret!), signed("ann", "x".repeat(64)), "0", "z".repeat(64)]) {
    const answer = await call("ann", signature);
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([403, "invalid_user_signature"]);
  }
  const events = (users: string[]) => ({ events: users.map((user_id) => ({ user_id, item_id: "i1", type: "view" })) });
  const send = async (users: string[]) =>
    (await call("", signed("7", userSecret!), "/v0/events", events(users))).status;
  expect([await send(["7", "7"]), await send(["7", "ann"])]).toEqual([200, 403]);
  const seen = await edge.call("/v0/users/7/events");
  expect(((await seen.json()) as { events: unknown[] }).events).toHaveLength(2);
});
test("one visitor of a page does not use up the key's rate limit", async () => {
  const { key } = await issue(false);
  const call = async (address: string) =>
    (await edge.call(RANK, { key, headers: { origin: ORIGIN, "cf-connecting-ip": address } })).status;
  const statuses = await Promise.all(Array.from({ length: 40 }, () => call("192.0.2.1")));
  expect(statuses).toContain(429);
  expect(await call("192.0.2.2")).toBe(200);
});
