/**
 * The process that `pushdown.ts` measures: one run from a Postgres table to a published version. Arguments, as JSON: PushdownRun. The
 * password comes from the environment.
 */
import { ModelSpec } from "../../shared/model-spec.ts";
import { watchPeakMemory } from "../../trainer/choose/files/peak-memory.ts";
import { freeMemory, memoryForData } from "../../trainer/run/free-memory.ts";
import {
  beginRun,
  buildFinal,
  chooseModel,
  fitOnAllData,
  readData,
  sourceFacts,
  type TrainDeps,
  upload,
} from "../../trainer/run/run-steps.ts";
import { directoryStore } from "../../trainer/store/directory-store.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { postgresConfig } from "../fixtures/postgres-server.ts";
import { fileSettings } from "../fixtures/real-data.ts";
import { benchJob } from "./bench-run.ts";
import type { PushdownMeasured, PushdownRun, PushdownStage } from "./pushdown.ts";

const { port, query, workDirectory, bucket, fitSecondsMax, memoryMb, readMb } = JSON.parse(
  process.argv[2]!,
) as PushdownRun;
const say = (said: string) => process.send?.({ said });
const clock = () => performance.now() / 1000;
const cpuSeconds = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const settings = {
  ...fileSettings([], workDirectory),
  silenceSeconds: 7200,
  timeoutSeconds: 7200,
  memoryMb: 1024,
  allowPrivateAddresses: true,
  secret: () => process.env.BENCH_PASSWORD,
};
const spec = ModelSpec.parse({
  model_name: "bench",
  connector_configs: [postgresConfig({ port }, "postgres", { password: { env: "SHORTLIST_SECRET_BENCH__DB" } })],
  schema: {
    user: { id: "user_id" },
    item: { id: "item_id" },
    interaction: { created_at: "created_at", label: { type: "Binary", name: "label" }, source: { query } },
  },
});

const stages = new Map<string, PushdownStage>();
let now: { name: string; since: number; cpu: number; peak: () => number } | undefined;
/** Ends a stage and begins the next. A stage that comes again is continued. */
const enter = (name: string | undefined) => {
  if (name === now?.name) return;
  if (now) {
    const before = stages.get(now.name) ?? { seconds: 0, cpuSeconds: 0, peakMb: 0 };
    const seconds = before.seconds + clock() - now.since;
    const used = before.cpuSeconds + cpuSeconds() - now.cpu;
    const peakMb = Math.max(before.peakMb, now.peak());
    stages.set(now.name, { name: now.name, seconds, cpuSeconds: used, peakMb });
    say(`${now.name}: ${seconds.toFixed(1)} s, ${used.toFixed(1)} s of CPU, ${Math.round(peakMb)} MB`);
  }
  now = name === undefined ? undefined : { name, since: clock(), cpu: cpuSeconds(), peak: watchPeakMemory() };
};

/** What the reading does, by the details that it reports. */
const readingStage = (detail: string) => {
  if (detail.includes("every user")) return detail.startsWith("sorting") ? "sorting records" : "reading records";
  return detail.startsWith("counting") ? "counting" : "reading the sample";
};
let isReading = true;
let warnings: readonly string[] = [];
const store = directoryStore(bucket);
const deps: TrainDeps = {
  connect: { customer: "bench", settings },
  store,
  signal: new AbortController().signal,
  nowMs: Date.now,
  clock: cpuSeconds,
  report: { enter: () => undefined, progress: ({ detail }) => isReading && detail && enter(readingStage(detail)) },
  memoryMbFree: freeMemory(memoryMb),
  onData: (data) => {
    warnings = data.warnings;
  },
};
await setStatus(store, { customer: "bench", modelName: "bench" }, { status: "SCHEDULING", nowMs: Date.now() });
const job = benchJob(spec, { connect: deps.connect, workDirectory, fitSecondsMax, memoryMbMax: memoryMb });
const run = beginRun(job, deps);
const begin = clock();
enter("counting");
const reading = { ...run, job: { ...job, settings: { ...job.settings, memoryMbMax: readMb } } };
const data = { ...(await readData(reading, undefined)), memoryMbMax: memoryForData(memoryMb) };
isReading = false;
enter("choosing");
const selection = await chooseModel(run, data, undefined);
for (const { method, outcome, reason } of selection.report.candidates) say(`  ${method}, ${outcome}: ${reason}`);
enter("fitting");
const final = await fitOnAllData(run, data, selection);
enter("deploying");
const report = { ...selection.report, sources: sourceFacts(run, data), refit: final.report };
const built = await buildFinal(run, { data, selection, final });
await upload(run, built, { report: { ...report, gate: { pass: true, reasons: [], notes: [] } }, selection });
enter(undefined);
const measured: PushdownMeasured = {
  seconds: clock() - begin,
  cpuSeconds: cpuSeconds(),
  stages: [...stages.values()],
  method: selection.chosen.method,
  version: built.version,
  learntRows: data.learnt.items.length,
  warnings,
};
process.send?.({ measured }, () => process.disconnect());
