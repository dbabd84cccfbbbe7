/** What the trainer tells operators: runs as they end, and at each scrape the state of queue, models, memory and disk. */
import { statfs } from "node:fs/promises";
import type { Attributes, BatchObservableResult, Meter } from "@opentelemetry/api";
import type { LogEntry } from "../log/log.ts";
import { RUN_SECONDS } from "../log/metrics.ts";
import type { Database } from "./records/database.ts";

/** Limits on the label values of a scrape. Beyond them, models and customers are counted but not named. */
const MODELS_MAX = 1000;
const CUSTOMERS_MAX = 200;

/** Counts runs by the entries that the trainer logs anyway. */
export function runCounter(meter: Meter): (entry: LogEntry) => void {
  const runs = meter.createCounter("shortlist_runs", {
    description: "Attempts at a training run, by how and where they ended",
  });
  const seconds = meter.createHistogram("shortlist_run_seconds", {
    description: "Seconds of an attempt at a training run",
    advice: { explicitBucketBoundaries: RUN_SECONDS },
  });
  const rows = meter.createCounter("shortlist_rows_read", { description: "Interactions that runs have read" });
  const peak = meter.createGauge("shortlist_run_peak_megabytes", { description: "Peak memory of the last run" });
  const repeated = meter.createCounter("shortlist_runs_repeated", {
    description: "Runs that exceeded their memory and began again without a method",
  });
  return (entry) => {
    if (entry.event === "run_repeated") repeated.add(1);
    if (entry.event !== "run_ended") return;
    const text = (name: string) => String(entry[name] ?? "");
    runs.add(1, { outcome: text("outcome"), stage: text("stage"), code: text("code") });
    seconds.record(Number(entry.seconds), { outcome: text("outcome") });
    rows.add(Number(entry.rows ?? 0));
    peak.record(Number(entry.peak_mb));
  };
}

type Observed = {
  readonly database: Pick<Database, "query">;
  readonly stateDirectory: string;
  readonly nowMs: () => number;
};

type ModelRow = {
  readonly customer: string;
  readonly model_name: string;
  readonly status: string;
  readonly trained_at: Date | string | null;
  readonly data: string | null;
  readonly metrics: string | null;
  readonly failure: string | null;
};

/** Observes the trainer's state at each scrape. */
export function observeTrainer(meter: Meter, { database, stateDirectory, nowMs }: Observed): void {
  const gauge = (name: string, description: string) =>
    meter.createObservableGauge(`shortlist_${name}`, { description });
  const gauges = {
    up: gauge("database_up", "Whether the database answers"),
    queued: gauge("queued_runs", "Runs that wait or are under way"),
    queueAge: gauge("queue_age_seconds", "Age of the customer's oldest run that has not ended"),
    models: gauge("models", "Models by status"),
    failing: gauge("model_failing", "1 if the model's last run has failed"),
    age: gauge("model_age_seconds", "Age of the live version"),
    catalogAge: gauge(
      "model_catalog_age_seconds",
      "Age of the catalog that the live version has from the model's source of items",
    ),
    dataAge: gauge("model_data_age_seconds", "Age of the newest interaction that the model's last run has read"),
    quality: gauge("model_quality", "The live version's metrics, such as ndcg@10"),
    memory: gauge("memory_bytes", "Resident memory of the trainer's main process"),
    disk: gauge("disk_free_bytes", "Free bytes of the disk with the state folder"),
  };
  meter.addBatchObservableCallback(async (result) => {
    result.observe(gauges.memory, process.memoryUsage.rss());
    const { bavail, bsize } = await statfs(stateDirectory);
    result.observe(gauges.disk, bavail * bsize);
    try {
      await observeQueue(result);
      await observeModels(result);
      result.observe(gauges.up, 1);
    } catch {
      result.observe(gauges.up, 0); // the log says why
    }
  }, Object.values(gauges));

  async function observeQueue(result: BatchObservableResult): Promise<void> {
    const text =
      "select customer, count(*) as runs, min(created_at) as oldest from shortlist.runs group by customer limit $1";
    const rows = await database.query(text, [CUSTOMERS_MAX]);
    result.observe(
      gauges.queued,
      rows.reduce((sum, row) => sum + Number(row.runs), 0),
    );
    for (const row of rows) result.observe(gauges.queueAge, ageOf(row.oldest), { customer: String(row.customer) });
  }

  async function observeModels(result: BatchObservableResult): Promise<void> {
    const counts = await database.query("select status, count(*) as models from shortlist.models group by status");
    for (const row of counts) result.observe(gauges.models, Number(row.models), { status: String(row.status) });
    const text = `select customer, model_name, status, trained_at, data, metrics, failure from shortlist.models
      order by customer, model_name limit $1`;
    for (const row of (await database.query(text, [MODELS_MAX])) as unknown as readonly ModelRow[]) {
      const labels: Attributes = { customer: row.customer, model: row.model_name };
      result.observe(gauges.failing, row.failure === null ? 0 : 1, labels);
      if (row.trained_at !== null) result.observe(gauges.age, ageOf(row.trained_at), labels);
      const { to, catalog_items } = parsed(row.data);
      if (row.trained_at !== null && catalog_items !== undefined)
        result.observe(gauges.catalogAge, ageOf(row.trained_at), labels);
      if (typeof to === "string") result.observe(gauges.dataAge, ageOf(to), labels);
      for (const [metric, value] of Object.entries(parsed(row.metrics)))
        if (typeof value === "number" && metric.includes("@"))
          result.observe(gauges.quality, value, { ...labels, metric });
    }
  }

  const ageOf = (time: unknown) => Math.max(0, (nowMs() - new Date(time as string).getTime()) / 1000);
}

const parsed = (text: string | null): Record<string, unknown> => (text === null ? {} : JSON.parse(text));
