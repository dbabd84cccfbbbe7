import { StoreError } from "../store/object-store.ts";
import { LocalError } from "./local-error.ts";
import { runLocal } from "./run-local.ts";
import { parseStartFlags, START_USAGE } from "./start-flags.ts";

/** `npm start`. Ctrl-C stops in order; a second one at once. A fault is one sentence and exit code 1. */
async function main(): Promise<number> {
  const stop = new AbortController();
  let asked = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      if (asked) process.exit(130); // the children end with the channel to us
      asked = true;
      process.stdout.write("\nStopping.\n");
      stop.abort(new Stopped("Stopped."));
    });
  try {
    // npm changes into the repository's folder; relative paths are meant from where it was called.
    const cwd = process.env.INIT_CWD ?? process.cwd();
    const options = await parseStartFlags(process.argv.slice(2), cwd);
    if (options === "help") process.stdout.write(`${START_USAGE}\n`);
    else await runLocal(options, { environment: process.env, output, nowMs: Date.now, signal: stop.signal });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return error === stop.signal.reason || isTold(error) ? 130 : fail(error);
    return fail(error);
  }
}

class Stopped extends Error {
  override readonly name = "Stopped";
}

const output = {
  isTerminal: process.stdout.isTTY === true,
  get columns() {
    return process.stdout.columns || 120; // some terminals say 0
  },
  write: (text: string) => void process.stdout.write(text),
};

const isTold = (error: unknown) =>
  error instanceof LocalError || error instanceof StoreError || error instanceof Stopped;

function fail(error: unknown): number {
  process.stderr.write(`${isTold(error) ? (error as Error).message : ((error as Error).stack ?? error)}\n`);
  return 1;
}

process.exitCode = await main();
