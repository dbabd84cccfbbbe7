import { isUsersFault, runEvaluateCommand, UsageError } from "./choose/files/evaluate-command.ts";
import { reachThisMachine } from "./no-proxy.ts";

/** `npm run evaluate`: prints the result. An expected error is one sentence on stderr and exit code 1. */
async function main(): Promise<void> {
  reachThisMachine(process.env);
  const abort = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => abort.abort(new UsageError("Stopped.")));
  const log = (line: string) => process.stderr.write(`${line}\n`);
  try {
    process.stdout.write(await runEvaluateCommand(process.argv.slice(2), { signal: abort.signal, log }));
  } catch (error) {
    process.stderr.write(`${isUsersFault(error) ? error.message : ((error as Error).stack ?? error)}\n`);
    process.exitCode = 1;
  }
}

await main();
