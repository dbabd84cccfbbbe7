/** The metrics that operators get, and the dashboard and alerts that are made of them. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Metrics, openMetrics, serveMetrics } from "../../../trainer/log/metrics.ts";
import { observeTrainer, runCounter } from "../../../trainer/manage/trainer-metrics.ts";
import { callCounter } from "../../../trainer/serve/call-metrics.ts";
import { runsOf } from "../../fixtures/waiting-run.ts";

const RULES = new URL("../../../trainer/serve/alerts.yaml", import.meta.url).pathname;
const DASHBOARD = new URL("../../../trainer/serve/dashboard.json", import.meta.url).pathname;
const SITUATIONS = new URL("../../fixtures/alerts.test.yaml", import.meta.url).pathname;

const { database, state, waitingRun } = await runsOf();
let metrics: Metrics;
beforeAll(async () => {
  metrics = await openMetrics();
  const failing = await waitingRun("progress TRAINING\ndata\nfail no_positives");
  const publishing = await waitingRun("data\npublish v1", { customer: "other" });
  await failing.perform();
  await publishing.perform();
  await waitingRun("publish v2"); // waits
  const count = runCounter(metrics.meter);
  for (const entry of [...failing.logs, ...publishing.logs]) count(entry);
  observeTrainer(metrics.meter, { database, stateDirectory: state, nowMs: () => Date.now() + 60_000 });
  const answered = callCounter(metrics.meter);
  const rank = (path: string, status: number, headers = {}) =>
    answered({ method: "GET", path: `/v0/models/${path}`, status, milliseconds: 30, headers });
  rank("shop/rank?user_id=u1", 200, { "x-rank-strategy": "personalized" });
  rank("shop/rank?user_id=u1", 503);
  rank("nobody/similar_items", 404);
  rank("shop/scenarios", 200);
});
afterAll(async () => {
  await metrics.close();
  await database.close();
});

const sample = async (name: string) => {
  const line = (await metrics.text()).split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
};

test("runs are counted by outcome, stage and code", async () => {
  expect(await sample('shortlist_runs_total{outcome="failed",stage="fetching",code="no_positives"}')).toBe(1);
  expect(await sample('shortlist_runs_total{outcome="published",stage="",code=""}')).toBe(1);
  expect(await sample("shortlist_rows_read_total")).toBe(8);
});
test("a scrape shows the queue and every model with its quality", async () => {
  expect(await sample("shortlist_queued_runs")).toBe(1);
  expect(await sample('shortlist_queue_age_seconds{customer="acme"}')).toBeGreaterThanOrEqual(60);
  expect(await sample('shortlist_models{status="ACTIVE"}')).toBe(1);
  expect(await sample('shortlist_model_failing{customer="acme",model="model-0"}')).toBe(1);
  expect(await sample('shortlist_model_quality{customer="other",model="model-1",metric="ndcg@10"}')).toBe(0.2);
  expect(await sample('shortlist_model_age_seconds{customer="other",model="model-1"}')).toBeGreaterThanOrEqual(60);
  const catalogAge = 'shortlist_model_catalog_age_seconds{customer="other",model="model-1"}';
  expect(await sample(catalogAge)).toBeGreaterThanOrEqual(60);
  expect(await sample("shortlist_database_up")).toBe(1);
});
test("rank calls are counted by model, strategy and status; the name of no model is not kept", async () => {
  const count = "shortlist_rank_seconds_count";
  expect(await sample(`${count}{model="shop",strategy="personalized",status="200"}`)).toBe(1);
  expect(await sample(`${count}{model="shop",strategy="",status="503"}`)).toBe(1);
  expect(await sample(`${count}{model="",strategy="",status="404"}`)).toBe(1);
  expect(await sample('shortlist_calls_total{method="GET",status="200"}')).toBe(1);
});
test("a database that fails is a metric, and no failed scrape", async () => {
  const own = await openMetrics();
  const down = { query: () => Promise.reject(new Error("down")) };
  observeTrainer(own.meter, { database: down, stateDirectory: state, nowMs: Date.now });
  const text = await own.text();
  expect(text).toContain("shortlist_database_up 0");
  expect(text).toContain("shortlist_disk_free_bytes");
  await own.close();
});
test("one part that fails does not hide the others, and other paths have no metrics", async () => {
  const logs: string[] = [];
  const texts = [metrics.text, () => Promise.reject(new Error("no trainer"))];
  const server = await serveMetrics({ host: "127.0.0.1", port: 0, texts, log: ({ event }) => logs.push(event) });
  const get = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`);
  const answer = await get("/metrics");
  expect([answer.status, (await answer.text()).includes("shortlist_models"), logs]).toEqual([
    ...[200, true],
    ["metrics_unavailable"],
  ]);
  expect((await get("/v0/models")).status).toBe(404);
  await server.close();
});

test("the dashboard and the eight alerts name no metric that does not exist", async () => {
  const text = await metrics.text();
  const known = new Set([...text.matchAll(/^([a-z_]+)[{ ]/gm)].map(([, name]) => name!));
  // The fixture's run has no time of its newest interaction; serve.test.ts sees this one.
  known.add("shortlist_model_data_age_seconds");
  const [rules, dashboard] = await Promise.all([readFile(RULES, "utf8"), readFile(DASHBOARD, "utf8")]);
  expect([...rules.matchAll(/- alert: /g)]).toHaveLength(8);
  const named = new Set([...`${rules}${dashboard}`.matchAll(/shortlist_[a-z_]+/g)].map(([name]) => name));
  expect(named.size).toBeGreaterThan(15);
  expect([...named].filter((name) => !known.has(name))).toEqual([]);
});

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
test.skipIf(!hasPromtool)("each alert fires in its situation, and not before (promtool)", async () => {
  const folder = await mkdtemp(join(tmpdir(), "alerts-"));
  const [rules, path] = [join(folder, "rules.yaml"), join(folder, "alerts.test.yaml")];
  // promtool compares annotations too, which would stand here a second time.
  await writeFile(rules, (await readFile(RULES, "utf8")).replaceAll(/^ +annotations:\n( {10}.*\n)+/gm, ""));
  await writeFile(path, (await readFile(SITUATIONS, "utf8")).replace("RULES", rules));
  expect(execFileSync("promtool", ["test", "rules", path], { encoding: "utf8" })).toContain("SUCCESS");
});
if (!hasPromtool) console.log("promtool is not installed, so the alerts are not played.");
