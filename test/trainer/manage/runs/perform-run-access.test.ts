import { afterAll, expect, test } from "vitest";
import { prefixOf } from "../../../../shared/manifest.ts";
import { bucketGrants } from "../../../../trainer/store/bucket-grants.ts";
import { s3Store } from "../../../../trainer/store/s3-store.ts";
import { startLocalR2 } from "../../../fixtures/local-r2.ts";
import { runsOf } from "../../../fixtures/waiting-run.ts";

const { database, waitingRun } = await runsOf();
const { s3, stop } = await startLocalR2();
const grants = await bucketGrants(s3);
afterAll(async () => {
  await grants.close();
  await stop();
  await database.close();
});

test("a run can reach its own model in the bucket, and the other customer's run succeeds", async () => {
  const store = s3Store(s3);
  const theirs = [`${prefixOf("acme", "model-1")}live.json`, "customers/acme.json", "keys/0123"];
  for (const key of theirs) await store.swap(key, new TextEncoder().encode("{}"), null);
  const own = `${prefixOf("hostile", "model-0")}versions/v1.json`;
  const script = [...theirs, own].map((key) => `steal ${key}`).join("\n");
  const hostile = await waitingRun(`${script}\npublish v1`, { customer: "hostile", grants });
  const other = await waitingRun("publish v1", { grants });
  const [, succeeded] = await Promise.all([hostile.perform(), other.perform()]);
  const output = String(hostile.logs.find(({ event }) => event === "run_ended")?.output);
  const attempts = output.trim().split("\n");
  expect(attempts.slice(0, 12)).toEqual(theirs.flatMap((key) => Array(4).fill(`${key} rejected 403`)));
  expect(attempts.slice(12)).toEqual(Array(4).fill(`${own} fulfilled`));
  for (const key of theirs) expect(await store.head(key)).toBe(2);
  expect(succeeded).toMatchObject({ status: "ACTIVE", version: "v1" });
});

test.each(["FORWARD_SECRET", "DATABASE_URL", "HOME", "GOOGLE_APPLICATION_CREDENTIALS", "A_SECRET_OF_NEXT_YEAR"])(
  "a run's process does not see %s",
  async (name) => {
    process.env[name] ??= `postgres://${"planted".repeat(6)}`;
    const { perform, logs } = await waitingRun(`env ${name}\npublish v1`, {
      environment: { [name]: process.env[name]! },
    });
    await perform();
    expect(logs.find(({ event }) => event === "run_ended")?.output).toBe(`${name}=undefined\n`);
  },
);
