import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { bodyDigestOf, type ForwardedRequest, isSameSignature, signForward } from "../../shared/forward-signature.ts";

const request: ForwardedRequest = {
  method: "POST",
  path: "/v0/models?dry_run=true",
  customer: "acme",
  keyId: "key12345",
  scopes: ["rank", "manage"],
  timestampSeconds: 1_700_000_000,
  nonce: "n1",
  idempotencyKey: "",
  bodyDigest: createHash("sha256").update('{"model_name":"shop"}').digest("hex"),
};

test("the signature is HMAC-SHA-256 over the fields as JSON and the body's digest", async () => {
  expect(await bodyDigestOf(new TextEncoder().encode('{"model_name":"shop"}'))).toBe(request.bodyDigest);
  const who = '"acme","key12345","rank,manage","1700000000","n1",""';
  const text = `["shortlist-forward-1","POST","/v0/models?dry_run=true",${who},"${request.bodyDigest}"]`;
  expect(await signForward(request, "secret")).toBe(createHmac("sha256", "secret").update(text).digest("hex"));
});

test.each<[string, Partial<ForwardedRequest>]>([
  ["method", { method: "DELETE" }],
  ["path", { path: "/v0/models" }],
  ["customer", { customer: "acme2" }],
  ["key", { keyId: "key12346" }],
  ["scopes", { scopes: ["rank"] }],
  ["time", { timestampSeconds: 1_700_000_001 }],
  ["nonce", { nonce: "n2" }],
  ["idempotency key", { idempotencyKey: "i" }],
  ["body", { bodyDigest: "0".repeat(64) }],
  ["fields that only moved", { nonce: 'n1","', idempotencyKey: "" }],
])("another %s has another signature", async (_, change) =>
  expect(await signForward({ ...request, ...change }, "secret")).not.toBe(await signForward(request, "secret")),
);

test("another secret has another signature", async () =>
  expect(await signForward(request, "secre")).not.toBe(await signForward(request, "secret")));

test("only equal texts are the same", () =>
  fc.assert(
    fc.property(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), (a, b) => {
      expect(isSameSignature(a, b)).toBe(a === b);
      expect(isSameSignature(a, a)).toBe(true);
      expect(isSameSignature(a, a + b)).toBe(b === "");
      expect(isSameSignature(a + a, a)).toBe(a === "");
    }),
  ));
