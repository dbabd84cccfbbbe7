import { afterAll, beforeAll, expect, test } from "vitest";
import { Problem } from "../../../../shared/problem.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { forgetAnswersOf, performOnce, purgeIdempotencyKeys } from "../../../../trainer/manage/records/idempotency.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

let database: Database;
let effects = 0;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());

const ask = (key: string | null, body = "{}", customer = "acme") =>
  performOnce(database, { customer, key, body: new TextEncoder().encode(body) }, async (note) => {
    await database.transaction((queries) => note(queries, "shop", `answer ${effects + 1}`));
    effects++;
  });
const age = () => database.query("update shortlist.idempotency_keys set created_at = now() - interval '25 hours'");

test("a repeated request gets the same answer and has no second effect", async () => {
  const first = await ask("key-1");
  const before = effects;
  expect(await ask("key-1")).toEqual({ ...first, isReplay: true });
  expect(effects).toBe(before);
});

test("the same key with another body is a conflict; another customer's key is another key", async () => {
  await ask("key-2", "one");
  await expect(ask("key-2", "two")).rejects.toMatchObject({ code: "idempotency_conflict" });
  expect((await ask("key-2", "two", "other")).isReplay).toBe(false);
});

test("without a key every request is performed", async () => {
  expect([(await ask(null)).isReplay, (await ask(null)).isReplay]).toEqual([false, false]);
});

test("simultaneous requests with one key have one effect", async () => {
  const answers = await Promise.all([ask("key-3"), ask("key-3"), ask("key-3")]);
  expect(new Set(answers.map(({ answer }) => answer)).size).toBe(1);
  expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1);
});

test("a failure is not remembered", async () => {
  const failing = performOnce(database, { customer: "acme", key: "key-4", body: new Uint8Array(0) }, async () => {
    throw new Problem("model_exists", "no");
  });
  await expect(failing).rejects.toMatchObject({ code: "model_exists" });
  expect((await ask("key-4")).isReplay).toBe(false);
});

test("after a day a key is new, swept or not", async () => {
  await ask("key-5", "one");
  await age();
  expect((await ask("key-5", "two")).isReplay).toBe(false);
  await age();
  await purgeIdempotencyKeys(database);
  expect(await database.query("select 1 from shortlist.idempotency_keys")).toEqual([]);
});

test("what tells of a model is forgotten with it, and nothing else", async () => {
  for (const customer of ["acme", "other"]) await ask("key-6", "{}", customer);
  await forgetAnswersOf({ customer: "acme", modelName: "shop2" }, database);
  expect((await ask("key-6")).isReplay).toBe(true);
  await forgetAnswersOf({ customer: "acme", modelName: "shop" }, database);
  expect([(await ask("key-6")).isReplay, (await ask("key-6", "{}", "other")).isReplay]).toEqual([false, true]);
});

test.each([["x".repeat(256)], ["with space"], ["ü"], [""]])("%j is no key", async (key) => {
  await expect(ask(key)).rejects.toMatchObject({ code: "invalid_parameter" });
});
