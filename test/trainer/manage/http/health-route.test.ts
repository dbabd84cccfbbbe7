/** `GET /v0/health` of a real trainer: what a customer sees, and what only the operator sees. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { TrainerHealth } from "../../../../shared/health.ts";
import { issueKey } from "../../../../trainer/store/key-store.ts";
import { startHarness } from "../../../fixtures/trainer-harness.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

const SECRET = "planted-secret-of-acme";
let harness: Awaited<ReturnType<typeof startHarness>>;
beforeAll(async () => {
  harness = await startHarness({
    environment: {
      SHORTLIST_OPERATOR: "owner",
      SHORTLIST_CUSTOMER_MODELS: "3",
      SHORTLIST_SECRET_ACME__DB: SECRET,
    },
  });
});
afterAll(() => harness.stop());

async function healthOf(customer: string) {
  const { status, body } = await harness.call("GET", "/v0/health", { customer });
  expect(status).toBe(200);
  const { findings, operator } = TrainerHealth.parse(body);
  const named = (name: string) => findings.find((found) => found.name === name);
  return { findings, operator, named, text: JSON.stringify(body) };
}

test("a customer without models is well, and sees nothing of the machine", async () => {
  const { findings, operator } = await healthOf("newcomer");
  expect(operator).toBe(null);
  expect(findings.map(({ name, state }) => `${name} ${state}`)).toEqual([
    "models ok",
    "secrets of sources ok",
    "api keys ok",
    "limits ok",
  ]);
});

test("the operator's customer also sees machine and bucket", async () => {
  const { operator } = await healthOf("owner");
  expect(operator!.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["node", "memory", "disk", "bucket", "clock", "backup", "edge", "certificate"]),
  );
  // Nothing answers at the bucket's and the edge's address.
  expect(operator!.find(({ name }) => name === "bucket")).toMatchObject({ state: "fault", remedy: expect.any(String) });
});

test("a failed training, a secret that is missing and a full quota are findings of their customer only", async () => {
  expect((await harness.create("shop", "fail missing_column", { customer: "acme" })).status).toBe(201);
  await harness.until("shop", ({ failure }) => failure !== null, { customer: "acme" });
  const postgres = (name: string, secrets: object) => ({
    ...specOf(name, "publish v1"),
    connector_configs: [{ type: "Postgres", location: "postgres://reader@db.example/shop", ...secrets }],
  });
  const create = (body: object) => harness.call("POST", "/v0/models", { customer: "acme", body });
  const password = { password: { env: "SHORTLIST_SECRET_ACME__DB" } };
  expect((await create(postgres("named", password))).status).toBe(201);
  expect((await healthOf("acme")).named("secrets of sources")).toMatchObject({ state: "ok", finding: "1 are set" });
  expect((await healthOf("acme")).named("limits")).toMatchObject({
    state: "ok",
    finding: expect.stringMatching(/^2 of 3 models/),
  });
  expect((await create(postgres("unset", { password: { env: "SHORTLIST_SECRET_ACME__GONE" } }))).status).toBe(201);
  const { named, text } = await healthOf("acme");
  expect(named("model shop")).toMatchObject({
    ...{
      state: "fault",
      finding: "the last training failed: It failed with missing_column.",
      remedy: expect.any(String),
    },
  });
  expect(named("secrets of sources")).toMatchObject({
    ...{ state: "fault", finding: "SHORTLIST_SECRET_ACME__GONE, which unset needs, is not set" },
  });
  expect(named("limits")).toMatchObject({ state: "warning", remedy: expect.stringContaining("operator") });
  expect(text).not.toContain(SECRET);
  expect((await healthOf("globex")).text).not.toContain("shop");
});

test("a key that expires soon is a finding of its customer only", async () => {
  const nowMs = Date.now();
  const random = (count: number) => crypto.getRandomValues(new Uint8Array(count));
  const request = { scopes: ["rank"], expiresAtMs: nowMs + 86_400_000, nowMs, random } as const;
  const { record } = await issueKey(harness.store, { customer: "keyed", ...request });
  expect((await healthOf("keyed")).named("api keys")).toMatchObject({
    ...{ state: "warning", finding: expect.stringContaining(record.key_id) },
  });
  expect((await healthOf("globex")).named("api keys")).toMatchObject({ state: "ok" });
});

test("it takes no query parameter and no other scope", async () => {
  expect((await harness.call("GET", "/v0/health?all=1")).status).toBe(400);
  expect((await harness.call("GET", "/v0/health", { scopes: "rank" })).status).toBe(403);
});
