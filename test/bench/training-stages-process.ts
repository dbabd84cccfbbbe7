/** The process that `training-stages.ts` measures. Arguments: data folder, work folder, seconds for fitting. */
import type { TrainingState } from "../../shared/model-record.ts";
import { ModelSpec } from "../../shared/model-spec.ts";
import { memoryStore } from "../fixtures/memory-store.ts";
import { fileSettings } from "../fixtures/real-data.ts";
import { benchRun } from "./bench-run.ts";

const [dataFolder, workDirectory, fitSeconds] = process.argv.slice(2) as [string, string, string];
const say = (said: string) => process.send?.({ said });
const clock = () => performance.now() / 1000;
const connect = { customer: "bench", settings: { ...fileSettings([dataFolder], workDirectory), memoryMb: 1024 } };
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

let interactions = 0;
const outcome = await benchRun(spec, {
  connect,
  store: memoryStore(),
  clock,
  report: { enter, progress: () => {} },
  workDirectory,
  fitSecondsMax: Number(fitSeconds),
  memoryMbMax: 4096,
  onData: (data) => {
    interactions = data.interactions;
  },
});
enter("IDLE");
const peakMb = process.resourceUsage().maxRSS / 1024;
const method = outcome.kind === "published" ? outcome.metrics.method : outcome.report.chosen.method;
say(`chose ${method}`);
process.send?.({ measured: { stages, peakMb, interactions, method } }, () => process.disconnect());
