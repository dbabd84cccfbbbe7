import { beforeEach, describe, expect, test } from "vitest";
import { FORWARD_HEADERS } from "../../../../shared/forward-signature.ts";
import {
  callLimit,
  forwardVerifier,
  memoryNonces,
  NONCE_MS,
  type VerifierParts,
} from "../../../../trainer/manage/http/forwarded.ts";
import { SECRET, signedHeaders } from "../../../fixtures/trainer-client.ts";

const PATH = "/v0/models?limit=5";
const BODY = new TextEncoder().encode('{"a":1}');

let nowMs: number;
beforeEach(() => {
  nowMs = Date.now();
});
/** Verifies requests whose body has arrived. */
function verifier({ secret = SECRET, limit = () => {} }: Partial<VerifierParts> = {}) {
  const verify = forwardVerifier({ secret, nowMs: () => nowMs, limit, addNonce: memoryNonces(() => nowMs) });
  return (request: Request, body: Uint8Array) => verify(request, async () => body);
}

async function signed(options: Parameters<typeof signedHeaders>[3] = {}) {
  return new Request(`http://trainer${PATH}`, {
    method: "POST",
    headers: { ...(await signedHeaders("POST", PATH, BODY, options)), ...options.headers },
  });
}
const changed = (request: Request, name: string, value: string | null) => {
  const headers = new Headers(request.headers);
  if (value === null) headers.delete(name);
  else headers.set(name, value);
  return new Request(request.url, { method: request.method, headers });
};
const refused = { code: "invalid_api_key" };

test("a signed request identifies its caller", async () => {
  const caller = { customer: "acme", keyId: "testkey00", scopes: ["manage", "rank"] };
  expect(await verifier()(await signed(), BODY)).toEqual({ caller, body: BODY });
});

test("no part of a signed request can be changed or left out", async () => {
  const verify = verifier();
  const { requestId: _, bodyDigest, ...names } = FORWARD_HEADERS;
  await expect(verify(changed(await signed(), bodyDigest, "0".repeat(64)), BODY)).rejects.toMatchObject(refused);
  for (const name of Object.values(names)) {
    await expect(verify(changed(await signed(), name, null), BODY)).rejects.toMatchObject(refused);
    const other =
      name === FORWARD_HEADERS.timestamp ? String(Math.floor(Date.now() / 1000) - 3) : "other-0123456789abc";
    await expect(verify(changed(await signed(), name, other), BODY)).rejects.toMatchObject(refused);
  }
  await expect(verify(await signed(), new TextEncoder().encode('{"a":2}'))).rejects.toMatchObject(refused);
  await expect(verify(changed(await signed(), "idempotency-key", "added"), BODY)).rejects.toMatchObject(refused);
  const request = await signed();
  const elsewhere = new Request("http://trainer/v0/models?limit=6", request);
  await expect(verify(elsewhere, BODY)).rejects.toMatchObject(refused);
  await expect(
    verify(new Request(request.url, { method: "PUT", headers: request.headers }), BODY),
  ).rejects.toMatchObject(refused);
});

test("a signature with another secret is refused", async () => {
  await expect(verifier({ secret: "x".repeat(32) })(await signed(), BODY)).rejects.toMatchObject(refused);
});

test("a signature that is too old, or too far in the future, is refused", async () => {
  const verify = verifier();
  for (const age of [62, -62])
    await expect(verify(await signed({ age }), BODY)).rejects.toThrow("within the last minute");
  for (const age of [57, -57]) await verify(await signed({ age }), BODY);
});

test("a request is accepted once, as long as its signature is valid", async () => {
  const verify = verifier();
  const request = await signed({ age: -55 }); // signed by a clock that is ahead
  await verify(request, BODY);
  await expect(verify(request, BODY)).rejects.toThrow("was received before");
  for (const passedMs of [60_000, 54_000]) {
    nowMs += passedMs;
    await expect(verify(request, BODY)).rejects.toMatchObject(refused);
  }
});

test("nonces are forgotten once no signature with them can be valid, and a full memory refuses calls until then", () => {
  const add = memoryNonces(() => nowMs, 2);
  expect([add("old"), add("middle"), add("old")]).toEqual([true, true, false]);
  expect(() => add("one too many")).toThrow(expect.objectContaining({ code: "overloaded" }));
  nowMs += NONCE_MS - 1;
  expect(add("old")).toBe(false);
  nowMs += 1;
  expect([add("old"), add("new")]).toEqual([true, true]);
});

describe("a body", () => {
  const parts = () => ({ secret: SECRET, nowMs: () => nowMs, limit: () => {}, addNonce: memoryNonces(() => nowMs) });

  test("is read only after the headers were verified", async () => {
    const verify = forwardVerifier(parts());
    const unread = () => Promise.reject(new Error("was read"));
    for (const request of [
      new Request(`http://trainer${PATH}`, { method: "POST" }),
      changed(await signed(), FORWARD_HEADERS.signature, "0".repeat(64)),
      changed(await signed({ age: 100 }), FORWARD_HEADERS.signature, null),
      await signed({ age: 100 }),
    ])
      await expect(verify(request, unread)).rejects.toMatchObject(refused);
    await expect(verify(await signed(), unread)).rejects.toThrow("was read");
  });

  test("of an edge that sends no digest is accepted, and few of these bodies are held at once", async () => {
    const verify = forwardVerifier(parts());
    const without = async () => changed(await signed(), FORWARD_HEADERS.bodyDigest, null);
    expect(await verify(await without(), async () => BODY)).toMatchObject({ body: BODY });
    const { promise, resolve } = Promise.withResolvers<Uint8Array>();
    const slow = await Promise.all(Array.from({ length: 8 }, without));
    const answers = slow.map((request) => verify(request, () => promise));
    await expect(verify(await without(), async () => BODY)).rejects.toMatchObject({ code: "overloaded" });
    expect(await verify(await signed(), async () => BODY)).toMatchObject({ body: BODY });
    resolve(BODY);
    await Promise.all(answers);
    expect(await verify(await without(), async () => BODY)).toMatchObject({ body: BODY });
  });
});

test("a customer's calls are limited in each minute, another's are not, and refused calls use no nonce", async () => {
  nowMs = Math.floor(nowMs / 60_000) * 60_000 + 45_000;
  const limit = callLimit(2, () => nowMs);
  const verify = verifier({ limit });
  /** Signed this many seconds after `nowMs`, which is not the time of the machine. */
  const signedIn = (customer: string, seconds: number) =>
    signed({ customer, age: Math.round((Date.now() - nowMs) / 1000) - seconds });
  const call = async (customer: string) => verify(await signedIn(customer, 0), BODY);
  await call("flood");
  await call("flood");
  const refusedCall = await signedIn("flood", 50);
  const answer = verify(refusedCall, BODY);
  await expect(answer).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 15 });
  await expect(answer).rejects.toThrow("SHORTLIST_CUSTOMER_CALLS");
  await call("quiet");
  nowMs += 15_000;
  await verify(refusedCall, BODY);
});
