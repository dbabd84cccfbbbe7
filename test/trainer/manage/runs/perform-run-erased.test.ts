import { afterAll, expect, test } from "vitest";
import { erasedUsersKey } from "../../../../shared/erased-users.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { runsOf } from "../../../fixtures/waiting-run.ts";

const { database, waitingRun } = await runsOf();
afterAll(() => database.close());

test("without its customer's list of erased users a run fails, and the other customer's run succeeds", async () => {
  const store = memoryStore();
  const damaged = await waitingRun("publish v1", { customer: "damaged", store });
  const other = await waitingRun("publish v1", { store });
  await damaged.erased.erase("damaged", "ann" as UserId);
  const key = erasedUsersKey("damaged");
  await store.delete(key);
  await store.swap(key, new TextEncoder().encode("not a list"), null);
  const [failed, succeeded] = await Promise.all([damaged.perform(), other.perform()]);
  expect(failed).toMatchObject({ version: null, failure: { code: "store_unavailable" } });
  expect(succeeded).toMatchObject({ status: "ACTIVE", version: "v1" });
});

test("a run gets what is due, and its removal is noted", async () => {
  const day = 86_400_000;
  const erasedMs = Date.now() - 25 * day;
  const script = "say-erasure\nerased-removed\nfail no_rows";
  const { modelName, perform, logs, deadlines } = await waitingRun(script, { customer: "due" });
  const ofModel = "where customer = 'due'";
  await database.query(`update shortlist.models set created_at = $1 ${ofModel}`, [new Date(erasedMs).toISOString()]);
  const insert =
    "insert into shortlist.erased_users (customer, hash, erased_at) values ('due', '0123456789abcdef', $1)";
  await database.query(insert, [new Date(erasedMs).toISOString()]);
  expect(await deadlines.overdue()).toEqual([{ customer: "due", modelName }]);
  await perform();
  const output = logs.find(({ event }) => event === "run_ended")?.output;
  expect(JSON.parse(String(output))).toEqual({ salt: "0".repeat(32), dueMs: erasedMs + day });
  await expect.poll(() => deadlines.overdue()).toEqual([]);
});

test("after a collision of user hashes, the next attempt has a salt of its own", async () => {
  const { perform, logs } = await waitingRun("say-erasure\nfail user_hash_collision retryable", { attemptsMax: 3 });
  await perform();
  await perform();
  const salts = logs.filter(({ event }) => event === "run_ended").map(({ output }) => JSON.parse(String(output)).salt);
  expect(salts).toEqual(["0".repeat(32), null]);
});
