/** The program of `npm start`. */
import { runCommand } from "../command-line.ts";
import { onStop } from "../manage/processes/stop-signals.ts";
import { terminalOn } from "../terminal.ts";
import { runLocal } from "./run-local.ts";
import { START, startOptions } from "./start-flags.ts";

await runCommand(START, async ({ flags }) => {
  const stop = new AbortController();
  const terminal = terminalOn(process.stdout, process.env);
  onStop((reason) => {
    terminal.print(`\nStopping: ${reason}.`);
    stop.abort();
  });
  try {
    // npm changes into the repository's folder, but relative paths start where the user called it.
    const options = await startOptions(flags, process.env.INIT_CWD ?? process.cwd());
    await runLocal(options, { ...terminal, environment: process.env, signal: stop.signal });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    throw error;
  }
});
