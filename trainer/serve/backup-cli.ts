/** `npm run backup` and `npm run restore`. With `--dir` they save and restore a whole service of `npm run serve`. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { LocalError } from "../local/local-error.ts";
import { restore } from "../manage/records/backup.ts";
import { openDatabase } from "../manage/records/database.ts";
import { modelRegistry } from "../manage/records/model-registry.ts";
import { lockState, StateLockedError } from "../manage/state-lock.ts";
import { reachThisMachine } from "../no-proxy.ts";
import { StoreError } from "../store/object-store.ts";
import { readArchive, writeArchive } from "./archive.ts";
import { askTrainer } from "./ask-trainer.ts";
import { placesIn, readServeSettings } from "./serve-settings.ts";
import { bucketOf, trainerUrlOf } from "./service-parts.ts";

const USAGE = `Usage:
  npm run backup -- --dir DIR --to FILE      saves a service of npm run serve, also while it runs
  npm run restore -- --dir DIR --from FILE   restores it into an empty folder, here or on another machine
  npm run backup, npm run restore            without --dir: the records of a trainer (trainer/manage/README.md)`;

const OPTIONS = { dir: { type: "string" }, to: { type: "string" }, from: { type: "string" } } as const;

async function main(command: string, args: string[]): Promise<string> {
  reachThisMachine(process.env);
  const { dir, to, from } = options(args);
  const pathOf = (given: string) => resolve(process.env.INIT_CWD ?? process.cwd(), given);
  if (command === "backup" && dir && to && !from) return await backUpService(pathOf(dir), pathOf(to));
  if (command === "restore" && dir && from && !to) return await restoreService(pathOf(dir), pathOf(from));
  throw new LocalError(USAGE);
}

function options(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, strict: true }).values;
  } catch (cause) {
    throw new LocalError(USAGE, { cause });
  }
}

async function backUpService(dir: string, file: string): Promise<string> {
  const settings = await readServeSettings(dir);
  const lock = await lockState(placesIn(dir).run).catch((error) => {
    if (error instanceof StateLockedError) return undefined;
    throw error;
  });
  try {
    const isRunning = lock === undefined;
    if (isRunning) {
      await askTrainer(await trainerUrlOf(dir), settings.forward_secret, "/operator/backup");
    }
    await writeArchive(file, { dir, store: bucketOf(dir, settings), isRunning, nowMs: Date.now() });
    return `Saved the service in ${file}. It contains secrets: keep it like a key.`;
  } finally {
    lock?.release();
  }
}

async function restoreService(dir: string, file: string): Promise<string> {
  const { records, created_at } = await readArchive(file, dir);
  if (records === "folder") return `Restored the service of ${created_at} into ${dir}.`;
  const settings = await readServeSettings(dir);
  const url = settings.environment.DATABASE_URL;
  const database = await openDatabase(url ? String(url) : null, placesIn(dir).trainer);
  try {
    const parts = { database, registry: modelRegistry(database, Date.now), nowMs: Date.now };
    const { restored } = await restore(undefined, { ...parts, store: bucketOf(dir, settings) });
    return `Restored the service of ${created_at} with ${restored.length} models into ${dir}.`;
  } finally {
    await database.close();
  }
}

const [command = "", ...args] = process.argv.slice(2);
if (!args.some((argument) => argument.startsWith("--"))) await import("../manage/backup-cli.ts");
else
  try {
    process.stdout.write(`${await main(command, args)}\n`);
  } catch (error) {
    const isExpected = [LocalError, StoreError, StateLockedError].some((kind) => error instanceof kind);
    process.stderr.write(`${isExpected ? (error as Error).message : (error as Error).stack}\n`);
    process.exitCode = 1;
  }
