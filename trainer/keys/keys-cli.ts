/** The program of `npm run keys`. */
import { randomBytes } from "node:crypto";
import { runCommand } from "../command-line.ts";
import { KEYS, runKeysCommand } from "./keys-command.ts";

const world = { environment: process.env, nowMs: Date.now(), random: (count: number) => randomBytes(count) };
await runCommand(KEYS, (given) => runKeysCommand(given, world));
