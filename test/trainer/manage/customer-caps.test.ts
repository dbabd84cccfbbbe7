import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startHarness } from "../../fixtures/trainer-harness.ts";
import { specOf } from "../../fixtures/trainer-spec.ts";
import { freshFolder } from "../../fixtures/trainer-state.ts";

let harness: Awaited<ReturnType<typeof startHarness>>;
let gate: string;
beforeAll(async () => {
  gate = join(await freshFolder(), "open");
  const environment = { SHORTLIST_CONCURRENCY: "1", SHORTLIST_CUSTOMER_MODELS: "5", SHORTLIST_CUSTOMER_QUEUE: "4" };
  harness = await startHarness({ environment });
});
afterAll(() => harness.stop());

test("while one customer floods the queue, another customer's run goes first", async () => {
  const flood = { customer: "flood" };
  for (const name of ["one", "two", "three", "four"]) await harness.create(name, `until ${gate}\npublish v1`, flood);
  await harness.create("quiet", "publish v1");
  await expect.poll(() => started(harness.logs)).toEqual(["one"]);
  await writeFile(gate, "");
  await harness.until("quiet", ({ status }) => status === "ACTIVE");
  await harness.until("four", ({ status }) => status === "ACTIVE", flood);
  expect(started(harness.logs)).toEqual(["one", "quiet", "two", "three", "four"]);
});

test("a customer's models, waiting runs and schedules have limits, and the errors name the settings", async () => {
  const crowd = { customer: "crowd" };
  for (const name of ["one", "two", "three", "four"]) await harness.create(name, "wait", crowd);
  const queued = await harness.create("five", "wait", crowd);
  expect(queued).toMatchObject({ status: 429, body: { code: "rate_limited" } });
  expect(queued.body.detail).toContain("SHORTLIST_CUSTOMER_QUEUE");
  expect(queued.headers.get("retry-after")).toBe("60");
  expect((await harness.call("GET", "/v0/models/five", crowd)).status).toBe(404);

  for (const name of ["two", "three", "four"]) await harness.call("DELETE", `/v0/models/${name}`, crowd);
  const rich = { customer: "rich" };
  for (const name of ["one", "two", "three", "four", "five"]) {
    expect((await harness.create(name, "publish v1", rich)).status).toBe(201);
    await harness.call("DELETE", "/v0/models/one", crowd);
    await harness.until(name, ({ status }) => status === "ACTIVE", rich);
  }
  const full = await harness.create("six", "publish v1", rich);
  expect(full).toMatchObject({ status: 409, body: { code: "quota_exceeded" } });
  expect(full.body.detail).toContain("SHORTLIST_CUSTOMER_MODELS");

  const often = { body: specOf("often", "wait", { train_schedule: "*/5 * * * *" }) };
  const answers = [
    await harness.call("POST", "/v0/models", often),
    await harness.call("PATCH", "/v0/models/one", { ...rich, body: { train_schedule: "*/5 * * * *" } }),
  ];
  for (const { status, body } of answers) {
    expect([status, body.code]).toEqual([400, "invalid_parameter"]);
    expect(body.detail).toContain("SHORTLIST_SCHEDULE_MINUTES");
  }
});

const started = (logs: readonly object[]) =>
  logs.flatMap((entry) =>
    "event" in entry && entry.event === "run_started" && "model_name" in entry ? entry.model_name : [],
  );
