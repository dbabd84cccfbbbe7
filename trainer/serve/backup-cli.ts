/** `npm run backup` and `npm run restore`. With `--dir` they save and restore a whole service of `npm run serve`. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { LocalError } from "../local/local-error.ts";
import { restore } from "../manage/records/backup.ts";
import { openDatabase } from "../manage/records/database.ts";
import { modelRegistry } from "../manage/records/model-registry.ts";
import { lockState, StateLockedError } from "../manage/state-lock.ts";
import { reachThisMachine } from "../no-proxy.ts";
import { directoryStore } from "../store/directory-store.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { StoreError } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { readArchive, writeArchive } from "./archive.ts";
import { askTrainer } from "./ask-trainer.ts";
import { placesIn, readServeSettings, type ServeSettings } from "./serve-settings.ts";

const USAGE = `Usage:
  npm run backup -- --dir DIR --to FILE      saves a service of npm run serve, also while it runs
  npm run restore -- --dir DIR --from FILE   restores it into an empty folder, here or on another machine
  npm run backup, npm run restore            without --dir: the records of a trainer (trainer/manage/README.md)`;

const OPTIONS = { dir: { type: "string" }, to: { type: "string" }, from: { type: "string" } } as const;
const Running = z.object({ trainer_url: z.url() });

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
      const running = Running.parse(JSON.parse(await readFile(placesIn(dir).running, "utf8")));
      await askTrainer(running.trainer_url, settings.forward_secret, "/operator/backup");
    }
    await writeArchive(file, { dir, store: storeOf(dir, settings), isRunning, nowMs: Date.now() });
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
    const { restored } = await restore(undefined, { ...parts, store: storeOf(dir, settings) });
    return `Restored the service of ${created_at} with ${restored.length} models into ${dir}.`;
  } finally {
    await database.close();
  }
}

/** The bucket without the service's server in between: while it runs, this process only reads. */
function storeOf(dir: string, { objects }: ServeSettings): ObjectStore {
  if (objects.kind === "disk") return directoryStore(placesIn(dir).objects);
  const { endpoint, bucket, region } = objects;
  return s3Store({
    endpoint,
    bucket,
    region,
    accessKeyId: objects.access_key_id,
    secretAccessKey: objects.secret_access_key,
  });
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
