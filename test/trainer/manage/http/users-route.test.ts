import { afterAll, beforeAll, expect, test } from "vitest";
import { isErased } from "../../../../shared/erased-users.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { pathForLog } from "../../../../trainer/manage/http/app.ts";
import { readErasedUsers } from "../../../../trainer/store/erased-list.ts";
import { startHarness } from "../../../fixtures/trainer-harness.ts";

let harness: Awaited<ReturnType<typeof startHarness>>;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());
const isListed = async (id: string, customer = "acme") => {
  const list = await readErasedUsers(harness.store, customer);
  return list !== undefined && (await isErased(list, id as UserId));
};

test.each(["ann", "7", "a/b", "ä ö", "50%", "%25", "😀", "a+b", "a?b#c", "..a", "x".repeat(256), "'; drop table"])(
  "%s is erased under the id that a rank call would send",
  async (id) => {
    const { status, body } = await harness.call("DELETE", `/v0/users/${encodeURIComponent(id)}`);
    expect(status).toBe(202);
    expect(body).toMatchObject({ user_id: id, message: expect.stringContaining(`User '${id}' is erased`) });
    const waitMs = Date.parse(body.honoured_by as string) - Date.now();
    expect(waitMs > 5000 && waitMs <= 10_000).toBe(true);
    expect([await isListed(id), await isListed(id, "globex")]).toEqual([true, false]);
  },
);

test.each([".", "..", "erase", "ann/..", 7])("%j is erased by a body", async (id) => {
  const answer = await harness.call("POST", "/v0/users/erase", { body: { user_id: id } });
  expect(answer).toMatchObject({ status: 202, body: { user_id: String(id) } });
  expect(await isListed(String(id))).toBe(true);
});

test("a body without a valid id erases nobody, and a user may have the id erase", async () => {
  const erase = (body: unknown) => harness.call("POST", "/v0/users/erase", { body, customer: "careful" });
  for (const body of [{}, { user_id: "" }, { user_id: ["ann"] }, { user_id: "ann", all: true }])
    expect((await erase(body)).status).toBe(400);
  expect(await readErasedUsers(harness.store, "careful")).toBe(undefined);
  expect((await harness.call("DELETE", "/v0/users/erase", { customer: "careful" })).status).toBe(202);
  expect(await isListed("erase", "careful")).toBe(true);
});

test("erasing a user again gives the same answer; the customer needs no model", async () => {
  for (let call = 0; call < 2; call++) expect((await harness.call("DELETE", "/v0/users/bob")).status).toBe(202);
  expect((await harness.call("GET", "/v0/models")).body).toEqual({ models: [] });
});

test.each([
  ["%E0%A4%A", "must be percent-encoded UTF-8"],
  ["%ff", "must be percent-encoded UTF-8"],
  ["a%00b", "must not contain the character NUL"],
  ["x".repeat(257), "must have at most 256 bytes"],
])("%.12s is no user id", async (path, reason) => {
  const { status, body } = await harness.call("DELETE", `/v0/users/${path}`);
  expect([status, body.code]).toEqual([400, "invalid_parameter"]);
  expect(body.errors).toEqual([
    { pointer: "/user_id", code: "invalid_parameter", message: expect.stringContaining(reason) },
  ]);
});

test("the scope rank and other methods are refused", async () => {
  expect((await harness.call("DELETE", "/v0/users/cyd", { scopes: "rank" })).status).toBe(403);
  expect(await isListed("cyd")).toBe(false);
  const { status, headers } = await harness.call("GET", "/v0/users/cyd");
  expect([status, headers.get("allow")]).toEqual([405, "DELETE"]);
  expect((await harness.call("DELETE", "/v0/users/")).status).toBe(404);
});

test("the log has no user id", async () => {
  await harness.call("DELETE", "/v0/users/planted-id");
  await harness.call("GET", "/v0/users/planted-id");
  expect(harness.logs.filter(({ event }) => event === "request").length).toBeGreaterThan(0);
  expect(JSON.stringify(harness.logs)).not.toContain("planted-id");
  expect([pathForLog("/v0/users/ann"), pathForLog("/v0/models/shop")]).toEqual(["/v0/users/…", "/v0/models/shop"]);
});

test("a path in the log has no API key, and no part of one at its cut end", () => {
  for (let before = 0; before < 200; before++)
    expect(pathForLog(`/${"a/".repeat(before)}rk_${"0".repeat(36)}`)).not.toContain("rk_0");
  expect(pathForLog(`/v0/models/${"a".repeat(500)}`)).toHaveLength(200);
});
