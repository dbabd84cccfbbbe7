/**
 * The process that `scale.ts` measures: one run from a Parquet file to a published version. Arguments: the file's
 * folder, work folder, seconds for fitting, MB of memory, `file` or `events`.
 */
import { join } from "node:path";
import { ModelSpec } from "../../shared/model-spec.ts";
import { watchPeakMemory } from "../../trainer/choose/files/peak-memory.ts";
import { directoryStore } from "../../trainer/store/directory-store.ts";
import { fileSettings } from "../fixtures/real-data.ts";
import { benchRun } from "./bench-run.ts";
import type { ScaleMeasured, ScaleStage } from "./scale.ts";

const [folder, workDirectory, fitSeconds, memoryMb, source] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
const say = (said: string) => process.send?.({ said });
const clock = () => performance.now() / 1000;
const connect = {
  customer: "bench",
  settings: { ...fileSettings([folder], workDirectory), timeoutSeconds: 7200, memoryMb: 1024 },
};
const areEvents = source === "events";
const spec = ModelSpec.parse({
  model_name: "bench",
  connector_configs: [areEvents ? { type: "Events" } : { type: "File", location: "interactions.parquet" }],
  schema: {
    user: { id: "user_id" },
    item: { id: "item_id" },
    interaction: {
      created_at: "created_at",
      label: { type: "Binary", name: "label" },
      source: { query: `SELECT * FROM ${areEvents ? "events" : "interactions"}` },
      ...(areEvents && { events: { view: { label: true } } }),
    },
  },
});

/** In the order in which a run enters its states: it fits twice, to choose and then on all data. */
const NAMES = ["fetching", "choosing", "gate", "fitting", "deploying"] as const;
const stages: ScaleStage[] = [];
let since = clock();
let peak = watchPeakMemory();
let entered = 0;
const leave = () => {
  if (entered > 0) stages.push({ name: NAMES[entered - 1]!, seconds: clock() - since, peakMb: peak() });
  const last = stages.at(-1);
  if (last) say(`${last.name}: ${last.seconds.toFixed(1)} s, ${Math.round(last.peakMb)} MB`);
  since = clock();
  peak = watchPeakMemory();
};
const enter = () => {
  leave();
  entered++;
};

let reportedAt = 0;
const reportProgress = (progress: { readonly detail?: string; readonly rows?: number }) => {
  if (clock() - reportedAt < 10) return;
  reportedAt = clock();
  say(`${progress.detail ?? ""} ${progress.rows ?? ""}, ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MB`);
};

const begin = clock();
const outcome = await benchRun(spec, {
  connect,
  store: directoryStore(join(workDirectory, "bucket")),
  clock,
  report: { enter, progress: reportProgress },
  workDirectory,
  fitSecondsMax: Number(fitSeconds),
  memoryMbMax: Number(memoryMb),
});
const seconds = clock() - begin;
leave();
if (outcome.kind !== "published") throw new Error(`Nothing was published: ${JSON.stringify(outcome)}`);
const measured: ScaleMeasured = { seconds, stages, method: outcome.metrics.method };
process.send?.({ measured }, () => process.disconnect());
