/** The program of `npm run train`. */
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { CustomerId } from "../shared/key-record.ts";
import { ModelName } from "../shared/model-spec.ts";
import { type CommandLine, callOf, type Given, runCommand } from "./command-line.ts";
import { UsageError } from "./expected-error.ts";
import { errorForLog, lineLog } from "./log/log.ts";
import { onStop } from "./manage/processes/stop-signals.ts";
import type { TrainerParts } from "./manage/services.ts";
import { type OnlyRuns, trainOnce } from "./manage/train-once.ts";
import { startTrainer } from "./manage/trainer.ts";
import { readSettings } from "./settings.ts";
import { s3Store } from "./store/s3-store.ts";

const TRAIN = {
  name: "train",
  does: "runs the trainer until it is stopped",
  forms: [
    ["", "management API, schedules and runs, by the variables of its environment (or .env)"],
    ["--once", "trains everything that is due, and ends: for cron, Kubernetes or Cloud Run"],
  ],
  flags: {
    once: { type: "boolean", default: false, help: "end when everything that is due is done" },
    customer: { type: "string", value: "NAME", help: "with --once: only models of this customer" },
    model: { type: "string", value: "NAME", help: "with --once: only models of this name" },
  },
  notes: "Standard output has the log, one JSON object a line.",
  exitCodes: {
    0: "stopped, or with --once: done, or nothing was due",
    1: "it failed; with --once: a run failed or the job was stopped, and standard error says which",
    2: "wrong arguments or settings, or another trainer works in the state folder",
  },
} as const satisfies CommandLine;
const Only = z.object({ customer: CustomerId.optional(), model: ModelName.optional() });

const nowMs = () => Date.now();

await runCommand(TRAIN, async ({ flags }) => {
  const only = onlyOf(flags);
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
  if (flags.once) process.exit(await workOnce(parts, only));
  await serve(parts);
  return 0;
});
// A part that is still open must not keep a trainer alive that could not start.
if (process.exitCode !== 0) process.exit();

function onlyOf(flags: Given<typeof TRAIN.flags>["flags"]): OnlyRuns {
  const { once, customer, model } = flags;
  if (!once && (customer ?? model) !== undefined) throw new UsageError("--customer and --model need --once.");
  const only = Only.safeParse({ customer, model });
  if (only.success) return only.data;
  const [{ path, message }] = only.error.issues as [z.core.$ZodIssue];
  throw new UsageError(`--${String(path[0])} ${message}; ${callOf("train", "--help")} lists the flags.`);
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
