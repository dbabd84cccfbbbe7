/**
 * `npm run backup`, `npm run restore` and `npm run prune-erased`: saves the records to the bucket, restores them into the database, or
 * shortens a customer's list of erased users.
 */
import { reachThisMachine } from "../no-proxy.ts";
import { readSettings, SettingsError } from "../settings.ts";
import { StoreError } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { backUp, restore } from "./records/backup.ts";
import { openDatabase } from "./records/database.ts";
import { erasuresByHour, pruneErasures } from "./records/erasures.ts";
import { modelRegistry } from "./records/model-registry.ts";
import { lockState, StateLockedError } from "./state-lock.ts";

const USAGE = `Usage:
  npm run backup                  saves models, schedules and key records to the bucket
  npm run restore [-- NAME]       restores the newest backup, or the object NAME, such as backups/20261123T000000Z.json.gz
  npm run prune-erased -- CUSTOMER             counts the customer's erasures by the hour
  npm run prune-erased -- CUSTOMER FROM UNTIL  forgets those of a time, such as 2026-11-23T14:00Z 2026-11-23T16:00Z

All use the variables of the trainer. With an embedded database, stop the trainer first.`;

const COMMANDS = ["backup", "restore", "prune-erased"];

async function main([command = "", name, ...times]: readonly string[]): Promise<string> {
  reachThisMachine(process.env);
  const isPruning = command === "prune-erased";
  const [from, until] = times.map((text) => Date.parse(text));
  const isRange = times.length === 0 || (isPruning && times.length === 2 && from! < until!);
  if (!COMMANDS.includes(command) || !isRange || name?.startsWith("-") || (isPruning && !name)) return USAGE;
  const { stateDirectory, databaseUrl, store: options } = readSettings();
  const lock = databaseUrl === null ? await lockState(stateDirectory) : undefined;
  const database = await openDatabase(databaseUrl, stateDirectory);
  try {
    const registry = modelRegistry(database, Date.now);
    const parts = { database, registry, store: s3Store(options), nowMs: Date.now };
    if (isPruning && from === undefined) return (await erasuresByHour(name!, database)).join("\n");
    if (isPruning) {
      const [first, last] = [from!, until!].map((ms) => new Date(ms).toISOString());
      const { removed, left } = await pruneErasures({ customer: name!, from: first!, until: last! }, parts);
      return `Removed ${removed} erased users of ${name}; ${left} are left.`;
    }
    if (command === "backup") return `Saved ${await backUp(undefined, parts)}.`;
    const { name: key, restored, found } = await restore(name, parts);
    const skipped = found - restored.length;
    return [`Restored ${restored.length} models from ${key}; ${skipped} exist or were deleted.`, ...restored].join(
      "\n",
    );
  } finally {
    await database.close();
    lock?.release();
  }
}

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`);
} catch (error) {
  const isExpected = [SettingsError, StoreError, StateLockedError].some((kind) => error instanceof kind);
  process.stderr.write(`${isExpected ? (error as Error).message : (error as Error).stack}\n`);
  process.exitCode = 1;
}
