/** The program of a run's process: gets a TrainingJob over IPC, sends RunMessages, and ends. */

import { childSecret, readChildStore } from "../settings.ts";
import { StageError } from "../stage/stage-error.ts";
import { stageReporter } from "../stage/stage-reporter.ts";
import { s3Store } from "../store/s3-store.ts";
import { checkLease, requestAccessToken } from "./ask-management.ts";
import { freeMemory, memoryForData } from "./free-memory.ts";
import { runFailure } from "./run-failure.ts";
import { trainModel } from "./train-model.ts";
import type { RunMessage, TrainingJob } from "./training-run.ts";

process.once("message", (job) => {
  void perform(job as TrainingJob).then((last) => process.send?.(last, () => process.disconnect()));
});

/** Does the run and returns its last message. */
async function perform(job: TrainingJob): Promise<RunMessage> {
  const stop = new AbortController();
  process.once("SIGTERM", () =>
    stop.abort(new StageError("training", "stopped", "The run was stopped.", { retryable: true })),
  );
  const clock = () => performance.now() / 1000;
  let stage = "fetching";
  const report = stageReporter({
    clock,
    send: (state, progress) => {
      stage = progress.stage;
      send({ kind: "progress", state, progress });
    },
  });
  try {
    const bigqueryToken = () => requestAccessToken(process, stop.signal);
    const settings = { ...job.connectorSettings, secret: childSecret(), bigqueryToken };
    const { memoryMbMax } = job.settings;
    const forData = { ...job.settings, memoryMbMax: memoryForData(memoryMbMax) };
    return await trainModel(
      { ...job, settings: forData },
      {
        memoryMbFree: freeMemory(memoryMbMax),
        connect: { customer: job.customer, settings },
        store: s3Store(readChildStore()),
        signal: stop.signal,
        nowMs: () => Date.now(),
        clock,
        report,
        onData: (data) => send({ kind: "data", data }),
        onTry: (method) => send({ kind: "trying", method }),
        ownsLease: () => checkLease(process, stop.signal),
        onCleanupError: (error) => console.error("A removal of old or erased data failed:", error),
        onErasedRemoved: () => send({ kind: "erased_removed" }),
      },
    );
  } catch (error) {
    if (!(error instanceof StageError)) console.error(error);
    return { kind: "failed", failure: runFailure(error, stage) };
  }
}

function send(message: RunMessage): void {
  process.send?.(message);
}
