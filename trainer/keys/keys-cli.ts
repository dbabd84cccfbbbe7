import { randomBytes } from "node:crypto";
import { LocalError } from "../local/local-error.ts";
import { reachThisMachine } from "../no-proxy.ts";
import { SettingsError } from "../settings.ts";
import { StoreError } from "../store/object-store.ts";
import { runKeysCommand } from "./keys-command.ts";

/** `npm run keys`: prints the result. An expected error is one sentence on stderr and exit code 1. */
async function main(): Promise<void> {
  reachThisMachine(process.env);
  try {
    const world = { environment: process.env, nowMs: Date.now(), random: (count: number) => randomBytes(count) };
    process.stdout.write(`${await runKeysCommand(process.argv.slice(2), world)}\n`);
  } catch (error) {
    const isExpected = error instanceof LocalError || error instanceof StoreError || error instanceof SettingsError;
    process.stderr.write(`${isExpected ? error.message : (error as Error).stack}\n`);
    process.exitCode = 1;
  }
}

await main();
