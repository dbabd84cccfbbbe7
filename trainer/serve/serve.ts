/** The program of `npm run serve`: the whole service in production on one machine. */
import { resolve } from "node:path";
import { type CommandLine, runCommand } from "../command-line.ts";
import { onStop } from "../manage/processes/stop-signals.ts";
import { runService } from "./run-service.ts";

const SERVE = {
  name: "serve",
  does: "runs the whole service on this machine until it is stopped: edge, trainer, console, and the bucket",
  forms: [["--dir DIR", "a service that npm run setup has prepared"]],
  flags: {
    dir: { type: "string", value: "DIR", default: ".shortlist-service", help: "its folder (.shortlist-service)" },
  },
  notes: "DIR/settings.json has the settings, and DIR/local.json the address and the first customer's API key.",
  exitCodes: { 0: "stopped" },
} as const satisfies CommandLine;

await runCommand(SERVE, async ({ flags }) => {
  const stop = new AbortController();
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  onStop((reason) => {
    print(`Stopping: ${reason}.`);
    stop.abort();
  });
  try {
    await runService(resolve(process.env.INIT_CWD ?? process.cwd(), flags.dir), { print, signal: stop.signal });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    throw error;
  }
});
