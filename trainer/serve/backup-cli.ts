/** The program of `npm run backup` and `npm run restore`. With `--dir` they save and restore a whole service of `npm run serve`. */
import { resolve } from "node:path";
import { type CommandLine, type Result, runCommand } from "../command-line.ts";
import { UsageError } from "../expected-error.ts";
import { backUp, restore } from "../manage/records/backup.ts";
import { openDatabase } from "../manage/records/database.ts";
import { modelRegistry } from "../manage/records/model-registry.ts";
import { lockState, StateLockedError } from "../manage/state-lock.ts";
import { withRecords } from "../manage/with-records.ts";
import { readArchive, writeArchive } from "./archive.ts";
import { askTrainer } from "./ask-trainer.ts";
import { placesIn, readServeSettings } from "./serve-settings.ts";
import { bucketOf, trainerUrlOf } from "./service-parts.ts";

const dir = { type: "string", value: "DIR", help: "the folder of a service of npm run serve" } as const;
const json = { type: "boolean", default: false, help: "what was saved or restored as JSON" } as const;
const notes =
  "Without --dir it uses the variables of the trainer (or .env). With an embedded database, stop the trainer first.";

const BACKUP = {
  name: "backup",
  does: "saves a service, also while it runs, or the records of a trainer",
  forms: [
    ["--dir DIR --to FILE", "saves a service of npm run serve"],
    ["", "saves models, schedules and key records of a trainer to its bucket"],
  ],
  flags: { dir, to: { type: "string", value: "FILE", help: "the archive to write; it contains secrets" }, json },
  notes,
} as const satisfies CommandLine;

const RESTORE = {
  name: "restore",
  does: "restores what npm run backup has saved",
  forms: [
    ["--dir DIR --from FILE", "restores a service into an empty folder, here or on another machine"],
    ["[NAME]", "restores a trainer's newest backup, or the object NAME, such as backups/20261123T000000Z.json.gz"],
  ],
  flags: { dir, from: { type: "string", value: "FILE", help: "the archive to read" }, json },
  takesWords: true,
  notes,
} as const satisfies CommandLine;

const pathOf = (given: string) => resolve(process.env.INIT_CWD ?? process.cwd(), given);

async function backUpRecords(): Promise<Result> {
  const saved = await withRecords((records) => backUp(undefined, records));
  return { text: `Saved ${saved}.`, json: { saved } };
}

async function restoreRecords(wanted: string | undefined): Promise<Result> {
  const { name, restored, found } = await withRecords((records) => restore(wanted, records));
  const summary = `Restored ${restored.length} models from ${name}; ${found - restored.length} exist or were deleted.`;
  return { text: [summary, ...restored].join("\n"), json: { from: name, restored, found } };
}

async function backUpService(dir: string, file: string): Promise<Result> {
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
    return { text: `Saved the service in ${file}. It contains secrets: keep it like a key.`, json: { saved: file } };
  } finally {
    lock?.release();
  }
}

async function restoreService(dir: string, file: string): Promise<Result> {
  const { records, created_at } = await readArchive(file, dir);
  const json = { dir, created_at };
  if (records === "folder") return { text: `Restored the service of ${created_at} into ${dir}.`, json };
  const settings = await readServeSettings(dir);
  const url = settings.environment.DATABASE_URL;
  const database = await openDatabase(url ? String(url) : null, placesIn(dir).trainer);
  try {
    const parts = { database, registry: modelRegistry(database, Date.now), nowMs: Date.now };
    const { restored } = await restore(undefined, { ...parts, store: bucketOf(dir, settings) });
    return { text: `Restored the service of ${created_at} with ${restored.length} models into ${dir}.`, json };
  } finally {
    await database.close();
  }
}

// Both commands are this program, and the first argument says which.
const [name] = process.argv.splice(2, 1);
if (name === "backup")
  await runCommand(BACKUP, async ({ flags: { dir, to } }) => {
    if ((dir === undefined) !== (to === undefined)) throw new UsageError("--dir DIR and --to FILE go together.");
    return dir && to ? await backUpService(pathOf(dir), pathOf(to)) : await backUpRecords();
  });
else
  await runCommand(RESTORE, async ({ flags: { dir, from }, words }) => {
    if ((dir === undefined) !== (from === undefined)) throw new UsageError("--dir DIR and --from FILE go together.");
    if (words.length > (dir ? 0 : 1)) throw new UsageError(`Unexpected argument ${JSON.stringify(words.at(-1))}.`);
    return dir && from ? await restoreService(pathOf(dir), pathOf(from)) : await restoreRecords(words[0]);
  });
