import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { FORWARD_HEADERS } from "../../../../shared/forward-signature.ts";
import { databaseNonces, forwardVerifier, NONCE_MS } from "../../../../trainer/manage/http/forwarded.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { SECRET, signedHeaders } from "../../../fixtures/trainer-client.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

const PATH = "/v0/models?limit=5";
const BODY = new TextEncoder().encode('{"a":1}');

let database: Database;
let nowMs: number;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());
beforeEach(() => {
  nowMs = Date.now();
});
const nonces = () => databaseNonces(database, () => nowMs);
/** The verifier of a trainer that has just started on the shared database. */
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

test("a request is accepted once, by one trainer, as long as its signature is valid", async () => {
  const request = await signed({ age: -55 }); // signed by a clock that is ahead
  await verifier()(request, BODY);
  await expect(verifier()(request, BODY)).rejects.toThrow("was received before");
  for (const passedMs of [60_000, 54_000]) {
    nowMs += passedMs;
    await expect(verifier()(request, BODY)).rejects.toMatchObject(refused);
  }
});

test("if several trainers add a nonce at once, it is new to one of them", async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => nonces().add("at-once")));
  expect(answers.filter(Boolean)).toHaveLength(1);
});

test("nonces are removed once no signature with them can be valid, and not before", async () => {
  const kept = async () =>
    (await database.query("select nonce from shortlist.forward_nonces order by nonce")).map(({ nonce }) => nonce);
  await database.query("delete from shortlist.forward_nonces");
  await nonces().add("old");
  nowMs += NONCE_MS - 1;
  await nonces().add("middle");
  expect(await kept()).toEqual(["middle", "old"]);
  nowMs += 2;
  await nonces().add("new");
  expect(await kept()).toEqual(["middle", "new"]);
});
