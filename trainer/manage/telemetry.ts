/** Metrics and traces of a trainer, as its settings ask: read by Prometheus, or sent to a collector. */
import type { Log } from "../log/log.ts";
import { openMetrics, serveMetrics } from "../log/metrics.ts";
import { openTraces } from "../log/traces.ts";
import type { Settings } from "../settings.ts";
import type { Database } from "./records/database.ts";
import { runTracer } from "./run-traces.ts";
import { type ClosingStep, waitAtMost } from "./services.ts";
import { observeTrainer, runCounter } from "./trainer-metrics.ts";

export type Telemetry = {
  /** The log, which counts and traces runs by its entries. */
  readonly log: Log;
  /** Begins to observe the trainer's state, which lasts until the closing steps. */
  observe(database: Pick<Database, "query">, closing: ClosingStep[]): Promise<void>;
};

type Parts = { readonly settings: Settings; readonly nowMs: () => number; readonly log: Log };

/** A collector that is away holds up the end of the trainer for so long. */
const CLOSE_SECONDS_MAX = 10;

export async function openTelemetry({ settings, nowMs, log }: Parts): Promise<Telemetry> {
  const { metricsPort: port, collectorUrl, host, stateDirectory } = settings;
  if (port === undefined && collectorUrl === undefined) return { log, observe: async () => undefined };
  const metrics = await openMetrics(collectorUrl);
  const traces = collectorUrl === undefined ? undefined : await openTraces(collectorUrl);
  const logs = [log, runCounter(metrics.meter), ...(traces ? [runTracer(traces, nowMs)] : [])];
  return {
    log(entry) {
      for (const one of logs) one(entry);
    },
    async observe(database, closing) {
      observeTrainer(metrics.meter, { database, stateDirectory, nowMs });
      // What is sent at the end includes the state, so the database closes later.
      closing.push(() =>
        waitAtMost(
          CLOSE_SECONDS_MAX,
          Promise.all([metrics.close(), traces?.close()]).then(() => {}),
        ),
      );
      if (port === undefined) return;
      const server = await serveMetrics({ host, port, texts: [metrics.text], log });
      closing.push(() => server.close());
    },
  };
}
