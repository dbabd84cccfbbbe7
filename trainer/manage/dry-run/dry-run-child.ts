/** The program of a dry run's process: receives a DryRunJob over IPC, sends a DryRunAnswer, and ends. */
import { customerContext } from "../../read/customer-context.ts";
import { readChildSettings } from "../../settings.ts";
import { StageError } from "../../stage/stage-error.ts";
import { StoreError } from "../../store/object-store.ts";
import { s3Store } from "../../store/s3-store.ts";
import type { DryRunAnswer, DryRunJob } from "../questions/dry-runs.ts";
import { dryRun } from "./dry-run.ts";

/** The first rows of a text file that decide its columns' types. A training uses all rows, but a caller waits for a dry run. */
const TYPED_BY_ROWS = 200_000;

process.once("message", async (job) => {
  const answer = await perform(job as DryRunJob);
  process.send!(answer, () => process.disconnect());
});

async function perform(job: DryRunJob): Promise<DryRunAnswer> {
  const { customer, spec, rejectedFractionMax, fitSecondsMax } = job;
  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort(new StageError("fetching", "stopped", "The dry run was stopped.")));
  try {
    const child = readChildSettings();
    const settings = { ...job.connectorSettings, secret: child.secret, typedByRows: TYPED_BY_ROWS };
    const context = await customerContext({ customer, spec, settings, store: s3Store(child.store) });
    return { kind: "report", report: await dryRun(spec, context, stop.signal, { rejectedFractionMax, fitSecondsMax }) };
  } catch (error) {
    if (error instanceof StageError) return { kind: "failed", code: error.code, message: error.message };
    if (error instanceof StoreError) return { kind: "unavailable", message: error.message };
    throw error;
  }
}
