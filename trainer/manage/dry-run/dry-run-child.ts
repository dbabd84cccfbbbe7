/** The program of a dry run's process: receives a DryRunJob over IPC, sends a DryRunAnswer, and ends. */
import { join } from "node:path";
import { fetchEvents } from "../../read/connectors/events/fetch-events.ts";
import { requestAccessToken } from "../../run/ask-management.ts";
import { childSecret, readChildStore } from "../../settings.ts";
import { StageError } from "../../stage/stage-error.ts";
import { StoreError } from "../../store/object-store.ts";
import { s3Store } from "../../store/s3-store.ts";
import type { DryRunAnswer, DryRunJob } from "../questions/dry-runs.ts";
import { dryRun } from "./dry-run.ts";

/** The first rows of a text file that decide its columns' types. A training uses all rows, but a caller waits for a dry run. */
const TYPED_BY_ROWS = 200_000;
/** The newest event files that are read, by their size. */
const EVENT_BYTES_MAX = 8e6;

process.once("message", async (job) => {
  const answer = await perform(job as DryRunJob);
  process.send!(answer, () => process.disconnect());
});

async function perform(job: DryRunJob): Promise<DryRunAnswer> {
  const { customer, spec, rejectedFractionMax, fitSecondsMax } = job;
  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort(new StageError("fetching", "stopped", "The dry run was stopped.")));
  try {
    const bigqueryToken = () => requestAccessToken(process, stop.signal);
    const ofDryRun = { secret: childSecret(), bigqueryToken, typedByRows: TYPED_BY_ROWS };
    const context = {
      customer,
      settings: { ...job.connectorSettings, ...ofDryRun },
      events: await eventsOf(job, stop.signal),
    };
    return { kind: "report", report: await dryRun(spec, context, stop.signal, { rejectedFractionMax, fitSecondsMax }) };
  } catch (error) {
    if (error instanceof StoreError) return { kind: "failed", code: "store_unavailable", message: error.message };
    if (error instanceof StageError) return { kind: "failed", code: error.code, message: error.message };
    throw error;
  }
}

/** The newest events, if the model would listen to events. */
async function eventsOf({ customer, spec, connectorSettings }: DryRunJob, signal: AbortSignal) {
  const { events } = spec.schema.interaction;
  if (events === undefined) return undefined;
  const store = s3Store(readChildStore());
  const directory = join(connectorSettings.tempDirectory, "events");
  return await fetchEvents(events, { store, customer, directory, signal, bytesMax: EVENT_BYTES_MAX });
}
