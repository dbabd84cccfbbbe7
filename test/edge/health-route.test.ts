/** `GET /v0/health` in a real workerd: what the edge adds to the trainer's findings, and what it says without a trainer. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { HealthReport } from "../../shared/health.ts";
import { PRODUCT_VERSION } from "../../shared/product.ts";
import { type ForwardTrainer, startForwardTrainer } from "../fixtures/edge-trainer.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const DISK = { name: "disk", state: "ok", finding: "1 GB free" };
const WELL = { checked_at: "2026-11-27T00:00:00.000Z", findings: [], operator: [DISK], version: PRODUCT_VERSION };

let edge: EdgeWorld;
let trainer: ForwardTrainer;
beforeAll(async () => {
  trainer = await startForwardTrainer();
  edge = await startEdge({ vars: { TRAINER_URL: trainer.url, TRAINER_TIMEOUT_SECONDS: 1 } });
  await edge.publish({ events: { meanings: { view: { label: true, seen: true } }, learnt: {} } });
});
beforeEach(() => trainer.answer({ body: JSON.stringify(WELL) }));
afterEach(() => edge.inject(undefined));
afterAll(async () => {
  await edge?.stop();
  await trainer?.stop();
});

async function healthOf(key?: string) {
  const answer = await edge.call("/v0/health", key === undefined ? {} : { key });
  expect(answer.status).toBe(200);
  const report = (await answer.json()) as HealthReport;
  return { ...report, named: (name: string) => report.findings.find((found) => found.name === name) };
}

test("the trainer's findings, with the edge's own", async () => {
  const { findings, operator } = await healthOf((await edge.issueKey({ customer: "quiet" })).key);
  expect(operator).toEqual([DISK]);
  expect(findings).toEqual([
    { name: "lists", state: "ok", finding: "the edge reads the bucket" },
    { name: "release", state: "ok", finding: `edge ${PRODUCT_VERSION}, trainer ${PRODUCT_VERSION}` },
  ]);
});

test.each([
  ["nothing", null, "trainer", "fault", "does not answer"],
  ["a page of a gateway", { status: 502, headers: { "content-type": "text/html" } }, "trainer", "fault", "not answer"],
  ["that there is no such call", { status: 404, body: "{}" }, "trainer", "warning", "of another release"],
  ["something else", { body: "[]" }, "trainer", "warning", "of another release"],
  ["another version", { body: JSON.stringify({ ...WELL, version: "9.9.9" }) }, "release", "warning", "trainer 9.9.9"],
] as const)("a trainer that answers %s", async (_, given, name, state, finding) => {
  trainer.answer(given);
  const { named } = await healthOf();
  expect(named(name)).toMatchObject({ state, finding: expect.stringContaining(finding), remedy: expect.any(String) });
  expect(named("lists")).toMatchObject({ state: "ok" });
});

test("the trainer's refusal is passed on", async () => {
  const problem = { status: 429, code: "rate_limited" };
  trainer.answer({
    status: 429,
    headers: { "content-type": "application/problem+json", "retry-after": "7" },
    body: JSON.stringify(problem),
  });
  const answer = await edge.call("/v0/health");
  expect([answer.status, answer.headers.get("retry-after"), await answer.json()]).toEqual([429, "7", problem]);
});

test("a customer that sends events sees whether they still arrive", async () => {
  const { key } = await edge.issueKey({ customer: "sending" });
  expect((await healthOf(key)).named("events")).toBe(undefined);
  const events = [{ user_id: "ann", item_id: "it1", type: "view" }];
  expect((await edge.call("/v0/events", { key, body: { events } })).status).toBe(200);
  const read = async () => (await healthOf(key)).named("events");
  await expect
    .poll(read, { timeout: 20_000 })
    .toMatchObject({ state: "ok", finding: "the newest arrived within the last hour" });
});

test("it needs the scope manage, and takes no query parameter", async () => {
  const { key } = await edge.issueKey({ scopes: ["rank", "events"] });
  expect((await edge.call("/v0/health", { key })).status).toBe(403);
  expect((await edge.call("/v0/health", { key: null })).status).toBe(401);
  expect((await edge.call("/v0/health?all=1")).status).toBe(400);
});

test("events that have stopped arriving are a warning", async () => {
  const { key } = await edge.issueKey({ customer: "stopped" });
  const events = [{ user_id: "ann", item_id: "it1", type: "view" }];
  expect((await edge.call("/v0/events", { key, body: { events } })).status).toBe(200);
  await edge.idle(72 * 3_600_000); // the trainer's clock stays, so it refuses the call like any other of that time
  expect((await healthOf(key)).named("events")).toMatchObject({
    state: "warning",
    finding: "the newest arrived 72 hours ago",
  });
});
