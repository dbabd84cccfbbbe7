/** The program of `npm run serve`: the whole service in production on one machine. A user error is one sentence and exit code 1. */

import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { LocalError } from "../local/local-error.ts";
import { onStop } from "../manage/processes/stop-signals.ts";
import { StateLockedError } from "../manage/state-lock.ts";
import { reachThisMachine } from "../no-proxy.ts";
import { StoreError } from "../store/object-store.ts";
import { runService } from "./run-service.ts";

const USAGE = `npm run serve runs the whole service on this machine until it is stopped: edge, trainer, console, and the bucket.

  npm run serve -- --dir DIR    the folder that npm run setup has prepared (default: .shortlist-service)

DIR/settings.json has the settings, and DIR/local.json the address and the first customer's API key.`;

const DEFAULT_DIR = ".shortlist-service";

async function main(): Promise<number> {
  reachThisMachine(process.env);
  const stop = new AbortController();
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  onStop((reason) => {
    print(`Stopping: ${reason}.`);
    stop.abort();
  });
  try {
    const { dir, help } = options(process.argv.slice(2));
    if (help) print(USAGE);
    else await runService(resolve(process.env.INIT_CWD ?? process.cwd(), dir), { print, signal: stop.signal });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    const isUserError = [LocalError, StoreError, StateLockedError].some((kind) => error instanceof kind);
    process.stderr.write(`${isUserError ? (error as Error).message : ((error as Error).stack ?? error)}\n`);
    return 1;
  }
}

function options(args: string[]) {
  try {
    const known = { dir: { type: "string", default: DEFAULT_DIR }, help: { type: "boolean", default: false } } as const;
    return parseArgs({ args, options: known, strict: true }).values;
  } catch (cause) {
    const reason = (cause as Error).message.split(/[.\n]/)[0];
    throw new LocalError(`${reason}; npm run serve -- --help shows the usage.`, { cause });
  }
}

process.exitCode = await main();
