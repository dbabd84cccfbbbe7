import { expect, test } from "vitest";
import { FORWARD_HEADERS } from "../../../../shared/forward-signature.ts";
import { forwardVerifier } from "../../../../trainer/manage/http/forwarded.ts";
import { SECRET, signedHeaders } from "../../../fixtures/trainer-client.ts";

const PATH = "/v0/models?limit=5";
const BODY = new TextEncoder().encode('{"a":1}');

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

test("what the edge has signed tells who is asking", async () => {
  const verify = forwardVerifier(SECRET, Date.now);
  const caller = { customer: "acme", keyId: "testkey00", scopes: ["manage", "rank"] };
  expect(await verify(await signed(), BODY)).toEqual(caller);
});

test("nothing of a signed request can be changed or left out", async () => {
  const verify = forwardVerifier(SECRET, Date.now);
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

test("another secret signs nothing", async () => {
  await expect(forwardVerifier("x".repeat(32), Date.now)(await signed(), BODY)).rejects.toMatchObject(refused);
});

test("an old signature, or one from the future, is refused", async () => {
  const verify = forwardVerifier(SECRET, Date.now);
  for (const age of [62, -62])
    await expect(verify(await signed({ age }), BODY)).rejects.toThrow("within the last minute");
  for (const age of [57, -57]) await verify(await signed({ age }), BODY);
});

test("a request counts once, also at the edge of the window", async () => {
  let nowMs = Date.now();
  const verify = forwardVerifier(SECRET, () => nowMs);
  const request = await signed({ age: -55 }); // signed by a clock that is ahead
  await verify(request, BODY);
  for (const passed of [0, 60_000, 54_000]) {
    nowMs += passed;
    await expect(verify(request, BODY)).rejects.toMatchObject(refused);
  }
});
