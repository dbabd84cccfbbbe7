import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseNonces } from "../../../../trainer/manage/http/database-nonces.ts";
import { forwardVerifier, NONCE_MS } from "../../../../trainer/manage/http/forwarded.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { SECRET, signedHeaders } from "../../../fixtures/trainer-client.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

let database: Database;
let nowMs = Date.now();
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());
const nonces = () => databaseNonces(database, () => nowMs);
const kept = async () =>
  (await database.query("select nonce from shortlist.forward_nonces order by nonce")).map(({ nonce }) => nonce);

test("a nonce is new once, whoever of those that share the database asks", async () => {
  const [one, other] = [nonces(), nonces()];
  expect([await one.add("n1"), await one.add("n1"), await other.add("n1"), await other.add("n2")]).toEqual([
    true,
    false,
    false,
    true,
  ]);
});

test("of several that ask at once, one is told that it is new", async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => nonces().add("at-once")));
  expect(answers.filter(Boolean)).toHaveLength(1);
});

test("they are dropped when no signature can be valid any more, not before", async () => {
  await database.query("delete from shortlist.forward_nonces");
  await nonces().add("old");
  nowMs += NONCE_MS - 1;
  await nonces().add("middle");
  expect(await kept()).toEqual(["middle", "old"]);
  nowMs += 2;
  await nonces().add("new");
  expect(await kept()).toEqual(["middle", "new"]);
});

test("a request that one trainer has taken is refused by the others, and after a restart", async () => {
  const path = "/v0/models";
  const headers = await signedHeaders("GET", path, new Uint8Array(0), {});
  const ask = () =>
    forwardVerifier(
      SECRET,
      Date.now,
      databaseNonces(database, Date.now),
    )(new Request(`http://trainer${path}`, { headers }), new Uint8Array(0));
  expect((await ask()).customer).toBe("acme");
  await expect(ask()).rejects.toMatchObject({ code: "invalid_api_key", message: "The request was received before." });
});
