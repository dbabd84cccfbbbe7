import { expect, test } from "vitest";
import { CustomerId, isKeyValid, KeyRecord, keyRecordKey } from "../../shared/key-record.ts";

const record = KeyRecord.parse({
  format: 1,
  key_id: "abcd1234",
  customer: "acme",
  scopes: ["rank"],
  created_at: "2026-01-01T00:00:00Z",
  expires_at: null,
  revoked_at: null,
});
const at = Date.parse("2026-06-01T00:00:00Z");

test.each([
  ["a key that does not expire", {}, true],
  ["a key that expires later", { expires_at: "2026-06-01T00:00:01Z" }, true],
  ["a key that expires now", { expires_at: "2026-06-01T00:00:00Z" }, false],
  ["a key that has expired", { expires_at: "2026-05-01T00:00:00Z" }, false],
  ["a revoked key", { revoked_at: "2026-05-01T00:00:00Z" }, false],
  ["a key with an unreadable expiry time", { expires_at: "soon" }, false],
])("%s", (_, change, isValid) => expect(isKeyValid({ ...record, ...change }, at)).toBe(isValid));

test.each(["", "Acme", "a/b", "-a", "a b", "a".repeat(64), "ä"])("%j is not a customer's name", (name) =>
  expect(CustomerId.safeParse(name).success).toBe(false),
);

test("a record needs every field", () => {
  expect(KeyRecord.safeParse({ ...record, scopes: [] }).success).toBe(false);
  expect(KeyRecord.safeParse({ ...record, scopes: ["admin"] }).success).toBe(false);
  expect(KeyRecord.safeParse({ ...record, expires_at: undefined }).success).toBe(false);
  expect(keyRecordKey("ff")).toBe("keys/ff.json");
});
