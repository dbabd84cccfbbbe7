/** The program of `npm run deploy`. */
import { runCommand } from "../command-line.ts";
import { terminalOn } from "../terminal.ts";
import { DEPLOY, runDeployCommand } from "./deploy-command.ts";

const terminal = terminalOn(process.stdout, process.env);
await runCommand(DEPLOY, (given) => runDeployCommand(given, { environment: process.env, terminal }));
