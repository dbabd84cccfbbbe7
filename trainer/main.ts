/** `npm run train`: the trainer, until it is stopped, or with `--once` until everything that is due is done. */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import { CustomerId } from "../shared/key-record.ts";
import { ModelName } from "../shared/model-spec.ts";
import { errorForLog, lineLog } from "./log/log.ts";
import { onStop } from "./manage/processes/stop-signals.ts";
import type { TrainerParts } from "./manage/services.ts";
import { StateLockedError } from "./manage/state-lock.ts";
import { type OnlyRuns, trainOnce } from "./manage/train-once.ts";
import { startTrainer } from "./manage/trainer.ts";
import { reachThisMachine } from "./no-proxy.ts";
import { readSettings, SettingsError } from "./settings.ts";
import { s3Store } from "./store/s3-store.ts";

const OPTIONS = {
  once: { type: "boolean", default: false },
  customer: { type: "string" },
  model: { type: "string" },
} as const;
const Arguments = z.object({ once: z.boolean(), customer: CustomerId.optional(), model: ModelName.optional() });

const nowMs = () => Date.now();

reachThisMachine(process.env);
try {
  const { once, ...only } = readArguments(process.argv.slice(2));
  const settings = readSettings();
  const log = lineLog((line) => process.stdout.write(line), nowMs, settings.secrets);
  const parts = {
    settings,
    store: s3Store(settings.store),
    program: fileURLToPath(import.meta.resolve("./run/training-child.ts")),
    dryRunProgram: fileURLToPath(import.meta.resolve("./manage/dry-run/dry-run-child.ts")),
    nowMs,
    log,
  };
  if (once) process.exit(await workOnce(parts, only));
  else await serve(parts);
} catch (error) {
  const isExpected = error instanceof SettingsError || error instanceof StateLockedError;
  process.stderr.write(`${isExpected ? error.message : errorForLog(error)}\n`);
  process.exit(isExpected ? 2 : 1);
}

function readArguments(args: string[]) {
  try {
    const { once, ...only } = Arguments.parse(parseArgs({ args, options: OPTIONS }).values);
    if (!once && (only.customer ?? only.model) !== undefined) throw new Error("--customer and --model need --once");
    return { once, ...only };
  } catch (cause) {
    const [issue] = cause instanceof z.ZodError ? cause.issues : [];
    const reason = issue ? `--${String(issue.path[0])} ${issue.message}` : (cause as Error).message.split("\n")[0];
    const usage = "npm run train -- [--once [--customer NAME] [--model NAME]]";
    throw new SettingsError(`The arguments are not right: ${reason}. Usage: ${usage}`, { cause });
  }
}

async function serve(parts: TrainerParts): Promise<void> {
  const { settings, log } = parts;
  const starting = startTrainer(parts);
  onStop(async (reason) => {
    log({ event: "stopping", level: "info", reason });
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
}

/** Returns the exit code. */
async function workOnce(parts: TrainerParts, only: OnlyRuns): Promise<number> {
  const stop = new AbortController();
  onStop((reason) => {
    parts.log({ event: "stopping", level: "info", reason });
    stop.abort();
  });
  const { runs, failed } = await trainOnce(parts, only, stop.signal);
  parts.log({ event: "done", level: "info", runs, failed });
  if (failed.length > 0) process.stderr.write(`The training of ${failed.join(", ")} failed.\n`);
  if (stop.signal.aborted) process.stderr.write("Stopped: unfinished runs wait for the next start.\n");
  return failed.length > 0 || stop.signal.aborted ? 1 : 0;
}
