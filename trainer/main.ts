/** `npm run train`: the trainer, until SIGTERM or SIGINT. */
import { fileURLToPath } from "node:url";
import { errorForLog, lineLog } from "./log/log.ts";
import { StateLockedError } from "./manage/state-lock.ts";
import { startTrainer } from "./manage/trainer.ts";
import { readSettings, SettingsError } from "./settings.ts";
import { s3Store } from "./store/s3-store.ts";

const nowMs = () => Date.now();

try {
  const settings = readSettings();
  const log = lineLog((line) => process.stdout.write(line), nowMs, settings.secrets);
  const trainer = await startTrainer({
    settings,
    store: s3Store(settings.store),
    program: fileURLToPath(import.meta.resolve("./run/training-child.ts")),
    dryRunProgram: fileURLToPath(import.meta.resolve("./manage/dry-run/dry-run-child.ts")),
    nowMs,
    log,
  });
  log({ event: "started", level: "info", host: settings.host, port: trainer.port });

  let isStopping = false;
  const stop = async (signal: string) => {
    if (isStopping) process.exit(1); // a second signal ends the process at once
    isStopping = true;
    log({ event: "stopping", level: "info", signal });
    await trainer.stop();
    log({ event: "stopped", level: "info" });
    process.exit(0);
  };
  trainer.failed.catch((error) => {
    log({ event: "failed", level: "error", error: errorForLog(error) });
    process.exit(1); // the supervisor of this process restarts it; runs end with it and are retried
  });
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => void stop(signal));
} catch (error) {
  const isExpected = error instanceof SettingsError || error instanceof StateLockedError;
  process.stderr.write(`${isExpected ? error.message : errorForLog(error)}\n`);
  process.exitCode = 1;
}
