/** What a collector gets from a scheduled job: one trace per run, and the metrics at the end. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { afterAll, afterEach, expect, test } from "vitest";
import type { LogEntry } from "../../../trainer/log/log.ts";
import type { FinishedSpan } from "../../../trainer/log/traces.ts";
import { runTracer } from "../../../trainer/manage/run-traces.ts";
import { type ClosingStep, closeInReverse } from "../../../trainer/manage/services.ts";
import { openTelemetry } from "../../../trainer/manage/telemetry.ts";
import { readSettings } from "../../../trainer/settings.ts";
import { environmentOf } from "../../fixtures/trainer-client.ts";
import { runsOf } from "../../fixtures/waiting-run.ts";

const { database, state, waitingRun } = await runsOf();
afterAll(() => database.close());
const servers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of servers.splice(0)) await close();
});

/** The entries of a run's log, as of a run with an id as in production. */
async function entriesOf(script: string): Promise<{ runId: string; entries: LogEntry[] }> {
  const run = await waitingRun(script);
  await run.perform();
  const runId = randomUUID();
  return { runId, entries: run.logs.map((entry) => ({ ...entry, ...("run_id" in entry && { run_id: runId }) })) };
}

test("a collector gets a trace of each run with its stages, and the metrics of the whole job", async () => {
  // biome-ignore lint/suspicious/noExplicitAny: OTLP's JSON
  const got: Record<string, any[]> = { "/v1/traces": [], "/v1/metrics": [] };
  const collector = createServer(async (request, answer) => {
    got[request.url!]!.push(await json(request));
    answer.writeHead(200, { "content-type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  servers.push(() => collector.close());
  await new Promise((done) => collector.once("listening", done));
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`;
  const settings = readSettings({ ...environmentOf(state), OTEL_EXPORTER_OTLP_ENDPOINT: url });
  const telemetry = await openTelemetry({ settings, nowMs: Date.now, log: () => undefined });
  const closing: ClosingStep[] = [];
  await telemetry.observe(database, closing);
  const published = await entriesOf("progress FETCHING\ndata\nprogress TRAINING\npublish v1");
  const failed = await entriesOf("progress FETCHING\nfail no_positives");
  for (const entry of [...published.entries, ...failed.entries]) telemetry.log(entry);
  await closeInReverse(closing, () => undefined);

  const { resource, scopeSpans } = got["/v1/traces"]![0].resourceSpans[0];
  expect(resource.attributes).toContainEqual({ key: "service.name", value: { stringValue: "shortlist-trainer" } });
  const spans = scopeSpans[0].spans as Record<string, unknown>[];
  const of = (runId: string) => spans.filter(({ traceId }) => traceId === runId.replaceAll("-", ""));
  const [root] = of(published.runId).filter(({ name }) => name === "training run");
  expect(root!.parentSpanId).toBeUndefined();
  const stages = of(published.runId).filter(({ parentSpanId }) => parentSpanId === root!.spanId);
  expect(stages.map(({ name }) => name)).toEqual(["fetching", "training"]);
  expect(stages[0]!.endTimeUnixNano).toBe(stages[1]!.startTimeUnixNano);
  expect(root!.attributes).toContainEqual({ key: "outcome", value: { stringValue: "published" } });
  const error = { status: { code: 2, message: "no_positives" } };
  expect(of(failed.runId)).toMatchObject([
    { name: "fetching", ...error },
    { name: "training run", ...error },
  ]);

  const metrics = got["/v1/metrics"]!.at(-1).resourceMetrics[0].scopeMetrics[0].metrics as { name: string }[];
  const names = metrics.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["shortlist_runs", "shortlist_run_seconds", "shortlist_database_up"]));
});

test("a collector that is away fails no run, and holds up the end for seconds only", { timeout: 30_000 }, async () => {
  const settings = readSettings({ ...environmentOf(state), OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9" });
  const telemetry = await openTelemetry({ settings, nowMs: Date.now, log: () => undefined });
  const closing: ClosingStep[] = [];
  await telemetry.observe(database, closing);
  telemetry.log({ event: "run_ended", level: "info", run_id: randomUUID(), outcome: "published", seconds: 1 });
  const startedMs = performance.now();
  await closeInReverse(closing, () => undefined);
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

test("the stages of an attempt lie within it, and only the last one fails", () => {
  const added: { traceId: string; whole: FinishedSpan; parts: readonly FinishedSpan[] }[] = [];
  const trace = runTracer(
    { add: (traceId, whole, parts) => void added.push({ traceId, whole, parts }) },
    () => 100_000,
  );
  const stages = [
    { stage: "FETCHING", seconds: 3 },
    { stage: "TRAINING", seconds: 6 },
  ];
  const entry = { event: "run_ended", level: "info", run_id: "AB-12", outcome: "failed", code: "killed" } as const;
  trace({ ...entry, seconds: 10, stages });
  trace({ event: "run_started", level: "info" });
  expect(added).toMatchObject([
    {
      traceId: "ab12",
      whole: { startMs: 90_000, endMs: 100_000, failure: "killed" },
      parts: [
        { name: "fetching", startMs: 91_000, endMs: 94_000 },
        { name: "training", startMs: 94_000, endMs: 100_000, failure: "killed" },
      ],
    },
  ]);
  expect(added[0]!.parts[0]).not.toHaveProperty("failure");
});
