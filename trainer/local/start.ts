import { onStop } from "../manage/processes/stop-signals.ts";
import { StateLockedError } from "../manage/state-lock.ts";
import { reachThisMachine } from "../no-proxy.ts";
import { StoreError } from "../store/object-store.ts";
import { LocalError } from "./local-error.ts";
import { runLocal } from "./run-local.ts";
import { parseStartFlags, START_USAGE } from "./start-flags.ts";

/** The program of `npm start`. A user error is one sentence and exit code 1. */
async function main(): Promise<number> {
  reachThisMachine(process.env);
  const stop = new AbortController();
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  onStop((reason) => {
    print(`\nStopping: ${reason}.`);
    stop.abort();
  });
  try {
    // npm changes into the repository's folder, but relative paths start where the user called it.
    const options = await parseStartFlags(process.argv.slice(2), process.env.INIT_CWD ?? process.cwd());
    if (options === "help") print(START_USAGE);
    else await runLocal(options, { environment: process.env, print, signal: stop.signal });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    const isUserError = [LocalError, StoreError, StateLockedError].some((kind) => error instanceof kind);
    process.stderr.write(`${isUserError ? (error as Error).message : ((error as Error).stack ?? error)}\n`);
    return 1;
  }
}

process.exitCode = await main();
