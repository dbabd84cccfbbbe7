/** The program of `npm run evaluate`. */
import { EVALUATE, runEvaluateCommand } from "./choose/files/evaluate-command.ts";
import { runCommand } from "./command-line.ts";
import { ExpectedError } from "./expected-error.ts";
import { terminalOn } from "./terminal.ts";

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => stop.abort(new ExpectedError("Stopped.")));
const terminal = terminalOn(process.stderr, process.env);
await runCommand(EVALUATE, ({ flags }) => runEvaluateCommand(flags, { signal: stop.signal, terminal }));
