/** The program of one run's process: takes a TrainingJob over IPC, tells RunMessages, ends. */

import { customerContext } from "../read/customer-context.ts";
import { readChildSettings } from "../settings.ts";
import { StageError } from "../stage/stage-error.ts";
import { stageReporter } from "../stage/stage-reporter.ts";
import { s3Store } from "../store/s3-store.ts";
import { askHeld } from "./ask-held.ts";
import { runFailure } from "./run-failure.ts";
import { type TrainDeps, trainModel } from "./train-model.ts";
import type { RunMessage, TrainingJob } from "./training-run.ts";

process.once("message", (job) => {
  void perform(job as TrainingJob).then((last) => process.send?.(last, () => process.disconnect()));
});

/** The run's last message. */
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
    const child = readChildSettings();
    const store = s3Store(child.store);
    const settings = { ...job.connectorSettings, secret: child.secret };
    const deps: TrainDeps = {
      connect: await customerContext({ ...job, settings, store }),
      store,
      signal: stop.signal,
      nowMs: () => Date.now(),
      clock,
      report,
      onData: (data) => send({ kind: "data", data }),
      isHeld: () => askHeld(process, stop.signal),
      onLeftUndone: (error) => console.error("Superseded versions were not swept:", error),
    };
    return await trainModel(job, deps);
  } catch (error) {
    if (!(error instanceof StageError)) console.error(error);
    return { kind: "failed", failure: runFailure(error, stage) };
  }
}

function send(message: RunMessage): void {
  process.send?.(message);
}
