/** The process that `training-stages.ts` measures. Arguments: data folder, work folder, seconds for fitting. */
import type { TrainingState } from "../../shared/model-record.ts";
import { ModelSpec } from "../../shared/model-spec.ts";
import { trainModel } from "../../trainer/run/train-model.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../fixtures/memory-store.ts";
import { fileSettings } from "../fixtures/real-data.ts";

const [dataFolder, workDirectory, fitSeconds] = process.argv.slice(2) as [string, string, string];
const say = (said: string) => process.send?.({ said });
const clock = () => performance.now() / 1000;
const signal = new AbortController().signal;
const customer = "bench";
const connect = { customer, settings: { ...fileSettings([dataFolder], workDirectory), memoryMb: 1024 } };
const source = (table: string) => ({ source: { query: `SELECT * FROM ${table}` } });
const spec = ModelSpec.parse({
  model_name: "bench",
  connector_configs: [{ type: "File", location: "*.csv*" }],
  schema: {
    user: { id: "user_id" },
    item: { id: "item_id", ...source("items") },
    interaction: { created_at: "created_at", label: { type: "Binary", name: "label" }, ...source("interactions") },
  },
});

const stages: Record<string, number> = {};
let [state, since]: [TrainingState, number] = ["SCHEDULED", clock()];
const enter = (next: TrainingState) => {
  const now = clock();
  if (state !== "SCHEDULED") stages[state] = (stages[state] ?? 0) + now - since;
  [state, since] = [next, now];
};

const store = memoryStore();
await setStatus(store, { customer, modelName: "bench" }, { status: "SCHEDULING", nowMs: Date.now() });
let interactions = 0;
const outcome = await trainModel(
  {
    runId: "bench",
    customer,
    spec,
    connectorSettings: connect.settings,
    erasure: { salt: "0".repeat(32), dueMs: null },
    settings: {
      workDirectory,
      modelDirectory: workDirectory,
      seed: 1,
      fitSecondsMax: Number(fitSeconds),
      memoryMbMax: 4096,
      diskBytesMax: 1e12,
      rejectedFractionMax: 0,
      weightBytesMax: 24 * 2 ** 20,
      edgeMemoryBytes: 80e6,
      ignoreGate: true,
    },
  },
  {
    connect,
    store,
    signal,
    nowMs: Date.now,
    clock,
    report: { enter, progress: () => {} },
    onData: (data) => {
      interactions = data.interactions;
    },
  },
);
enter("IDLE");
const peakMb = process.resourceUsage().maxRSS / 1024;
const method = outcome.kind === "published" ? outcome.metrics.method : outcome.report.chosen.method;
say(`chose ${method}`);
process.send?.({ measured: { stages, peakMb, interactions, method } }, () => process.disconnect());
