/** `npm run backup` and `npm run restore`: saves the records to the bucket, or restores them into the database. */
import { readSettings, SettingsError } from "../settings.ts";
import { StoreError } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { backUp, restore } from "./records/backup.ts";
import { openDatabase } from "./records/database.ts";
import { modelRegistry } from "./records/model-registry.ts";
import { lockState, StateLockedError } from "./state-lock.ts";

const USAGE = `Usage:
  npm run backup                  saves models, schedules and key records to the bucket
  npm run restore [-- NAME]       restores the newest backup, or the object NAME, such as backups/20261123T000000Z.json.gz

Both use the variables of the trainer. With an embedded database, stop the trainer first.`;

async function main([command, name, ...rest]: readonly string[]): Promise<string> {
  if ((command !== "backup" && command !== "restore") || rest.length > 0 || name?.startsWith("-")) return USAGE;
  const { stateDirectory, databaseUrl, store: options } = readSettings();
  const lock = databaseUrl === null ? await lockState(stateDirectory) : undefined;
  const database = await openDatabase(databaseUrl, stateDirectory);
  try {
    const registry = modelRegistry(database, Date.now);
    const parts = { database, registry, store: s3Store(options), nowMs: Date.now };
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
