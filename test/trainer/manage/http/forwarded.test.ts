import { beforeEach, expect, test } from "vitest";
import { FORWARD_HEADERS } from "../../../../shared/forward-signature.ts";
import { forwardVerifier, memoryNonces, NONCE_MS } from "../../../../trainer/manage/http/forwarded.ts";
import { SECRET, signedHeaders } from "../../../fixtures/trainer-client.ts";

const PATH = "/v0/models?limit=5";
const BODY = new TextEncoder().encode('{"a":1}');

let nowMs: number;
beforeEach(() => {
  nowMs = Date.now();
});
const nonces = () => memoryNonces(() => nowMs);
const verifier = (secret = SECRET) => forwardVerifier(secret, () => nowMs, nonces());

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
  expect(await verifier()(await signed(), BODY)).toEqual(caller);
});

test("no part of a signed request can be changed or left out", async () => {
  const verify = verifier();
  for (const name of Object.values(FORWARD_HEADERS).filter((header) => header !== "x-request-id")) {
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
  await expect(verifier("x".repeat(32))(await signed(), BODY)).rejects.toMatchObject(refused);
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
  const { add } = memoryNonces(() => nowMs, 2);
  expect([add("old"), add("middle"), add("old")]).toEqual([true, true, false]);
  expect(() => add("one too many")).toThrow(expect.objectContaining({ code: "overloaded" }));
  nowMs += NONCE_MS - 1;
  expect(add("old")).toBe(false);
  nowMs += 1;
  expect([add("old"), add("new")]).toEqual([true, true]);
});
