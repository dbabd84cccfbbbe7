/** The program of one dry run's process: takes a DryRunJob over IPC, answers with a DryRunAnswer, ends. */
import { customerContext } from "../../read/customer-context.ts";
import { readChildSettings } from "../../settings.ts";
import { StageError } from "../../stage/stage-error.ts";
import { StoreError } from "../../store/object-store.ts";
import { s3Store } from "../../store/s3-store.ts";
import type { DryRunAnswer, DryRunJob } from "../questions/dry-run-process.ts";
import { dryRun } from "./dry-run.ts";

/** Somebody is waiting: the types of a file's columns are found by its first rows, where a training looks at all. */
const TYPED_BY_ROWS = 200_000;

process.once("message", async (job) => {
  const answer = await perform(job as DryRunJob);
  process.send!(answer, () => process.disconnect());
});

async function perform({
  customer,
  spec,
  connectorSettings,
  rejectedShareMax,
  fitSecondsMax,
}: DryRunJob): Promise<DryRunAnswer> {
  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort(new StageError("fetching", "stopped", "The dry run was stopped.")));
  try {
    const child = readChildSettings();
    const settings = { ...connectorSettings, secret: child.secret, typedByRows: TYPED_BY_ROWS };
    const context = await customerContext({ customer, spec, settings, store: s3Store(child.store) });
    return { kind: "report", report: await dryRun(spec, context, stop.signal, { rejectedShareMax, fitSecondsMax }) };
  } catch (error) {
    if (error instanceof StageError) return { kind: "failed", code: error.code, message: error.message };
    if (error instanceof StoreError) return { kind: "unavailable", message: error.message };
    throw error;
  }
}
