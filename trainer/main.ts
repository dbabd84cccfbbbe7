/** `npm run train`: the trainer, until SIGTERM or SIGINT. */
import { fileURLToPath } from "node:url";
import { errorForLog, lineLog } from "./log/log.ts";
import { onStop } from "./manage/processes/stop-signals.ts";
import { StateLockedError } from "./manage/state-lock.ts";
import { startTrainer } from "./manage/trainer.ts";
import { readSettings, SettingsError } from "./settings.ts";
import { s3Store } from "./store/s3-store.ts";

const nowMs = () => Date.now();

try {
  const settings = readSettings();
  const log = lineLog((line) => process.stdout.write(line), nowMs, settings.secrets);
  const starting = startTrainer({
    settings,
    store: s3Store(settings.store),
    program: fileURLToPath(import.meta.resolve("./run/training-child.ts")),
    dryRunProgram: fileURLToPath(import.meta.resolve("./manage/dry-run/dry-run-child.ts")),
    nowMs,
    log,
  });
  onStop(async (signal) => {
    log({ event: "stopping", level: "info", signal });
    await (await starting.catch(() => undefined))?.stop();
    log({ event: "stopped", level: "info" });
    process.exit(0);
  });
  const trainer = await starting;
  log({ event: "started", level: "info", host: settings.host, port: trainer.port });
  trainer.failed.catch((error) => {
    log({ event: "failed", level: "error", error: errorForLog(error) });
    process.exit(1); // the supervisor of this process restarts it; runs end with it and are retried
  });
  process.send?.("ready"); // to `npm start`
} catch (error) {
  const isExpected = error instanceof SettingsError || error instanceof StateLockedError;
  process.stderr.write(`${isExpected ? error.message : errorForLog(error)}\n`);
  process.exitCode = 1;
}
