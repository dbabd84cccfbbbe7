import { StoreError } from "../store/object-store.ts";
import { LocalError } from "./local-error.ts";
import { runLocal } from "./run-local.ts";
import { parseStartFlags, START_USAGE } from "./start-flags.ts";

/** The program of `npm start`. The first Ctrl-C stops in order, the second at once. A user error is one sentence and exit code 1. */
async function main(): Promise<number> {
  const stop = new AbortController();
  let isStopping = false;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      if (isStopping) process.exit(130); // edge and trainer exit when their IPC channel closes
      isStopping = true;
      process.stdout.write("\nStopping.\n");
      stop.abort(new Stopped("Stopped."));
    });
  try {
    // npm changes into the repository's folder, but relative paths start where the user called it.
    const cwd = process.env.INIT_CWD ?? process.cwd();
    const options = await parseStartFlags(process.argv.slice(2), cwd);
    if (options === "help") process.stdout.write(`${START_USAGE}\n`);
    else await runLocal(options, { environment: process.env, output, nowMs: Date.now, signal: stop.signal });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return error === stop.signal.reason || isUserError(error) ? 130 : fail(error);
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

const isUserError = (error: unknown) =>
  error instanceof LocalError || error instanceof StoreError || error instanceof Stopped;

function fail(error: unknown): number {
  process.stderr.write(`${isUserError(error) ? (error as Error).message : ((error as Error).stack ?? error)}\n`);
  return 1;
}

process.exitCode = await main();
