/** The program of a batch's process: gets a BatchJob over IPC, sends BatchMessages, and ends. */
import { Problem } from "../../shared/problem.ts";
import { childSecret, readChildStore } from "../settings.ts";
import { StageError } from "../stage/stage-error.ts";
import { StoreError } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { requestAccessToken } from "./ask-management.ts";
import type { BatchJob, BatchMessage } from "./batch-job.ts";
import { makeBatch } from "./make-batch.ts";

const PROGRESS_MS = 500;

process.once("message", (job) => {
  void perform(job as BatchJob).then((last) => process.send?.(last, () => process.disconnect()));
});

async function perform(job: BatchJob): Promise<BatchMessage> {
  const stop = new AbortController();
  process.once("SIGTERM", () => stop.abort(new StageError("fetching", "stopped", "The batch was stopped.")));
  let sentMs = 0;
  try {
    const bigqueryToken = () => requestAccessToken(process, stop.signal);
    const settings = { ...job.connectorSettings, secret: childSecret(), bigqueryToken };
    return await makeBatch(job, {
      store: s3Store(readChildStore()),
      context: { customer: job.customer, settings },
      signal: stop.signal,
      nowMs: Date.now,
      progress(fraction, detail) {
        if (performance.now() - sentMs < PROGRESS_MS) return;
        sentMs = performance.now();
        process.send?.({ kind: "progress", fraction, detail } satisfies BatchMessage);
      },
    });
  } catch (error) {
    if (error instanceof StageError || error instanceof Problem)
      return { kind: "failed", code: error.code, message: error.message, retryable: false };
    if (error instanceof StoreError)
      return {
        kind: "failed",
        code: "store_unavailable",
        message: "The store of models does not answer.",
        retryable: true,
      };
    console.error(error);
    return {
      kind: "failed",
      code: "internal",
      message: "Something failed on the trainer; the operator's log tells what.",
      retryable: true,
    };
  }
}
