/**
 * An archive of a service: one tar.gz with
 *
 *     archive.json         format, time, and where the records are
 *     settings.json        with the secrets, so that keys and signatures stay valid; local.json with the first customer's key
 *     durable/…            the Durable Objects' databases: events, changes of catalogs
 *     objects/{key}        the bucket: versions, keys, scenarios, exported events, and `backups/` with the records
 *     trainer/…            the trainer's database, only if the service was stopped
 */
import { execFile } from "node:child_process";
import { cp, link, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { backup as backUpDatabase, DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import * as z from "zod";
import { eventFileOf } from "../../shared/events/event-store.ts";
import { LocalError } from "../local/local-error.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { placesIn } from "./serve-settings.ts";

const Archive = z.object({
  format: z.literal(1),
  created_at: z.iso.datetime(),
  /** `bucket`: the newest object below `backups/`. `folder`: the trainer's database itself. */
  records: z.enum(["bucket", "folder"]),
});
type Archive = z.infer<typeof Archive>;

const MANIFEST = "archive.json";
const run = promisify(execFile);

type Source = {
  readonly dir: string;
  readonly store: ObjectStore;
  readonly isRunning: boolean;
  /** Epoch milliseconds. */
  readonly nowMs: number;
};

/** Writes the archive beside `file` and then renames it, so that `file` is never a part of one. */
export async function writeArchive(file: string, { dir, store, isRunning, nowMs }: Source): Promise<void> {
  const places = placesIn(dir);
  await mkdir(places.run, { recursive: true });
  const stage = await mkdtemp(join(places.run, "backup-"));
  try {
    const records: Archive["records"] = isRunning ? "bucket" : "folder";
    const manifest: Archive = { format: 1, created_at: new Date(nowMs).toISOString(), records };
    await writeFile(join(stage, MANIFEST), JSON.stringify(manifest), { mode: 0o600 });
    await cp(places.settings, join(stage, "settings.json"));
    if (await isThere(places.local)) await cp(places.local, join(stage, "local.json"));
    if (!isRunning && (await isThere(places.trainer)))
      await cp(places.trainer, join(stage, "trainer"), { recursive: true });
    // The objects' databases come first. What a shard exports later is left out below, since the shard will write it again.
    const exported = await snapshotDatabases(places.durable, join(stage, "durable"));
    for await (const { key } of store.list("")) {
      if (isBeyond(key, exported)) continue;
      const to = join(stage, "objects", key);
      await mkdir(dirname(to), { recursive: true });
      const linked = await link(join(places.objects, key), to).then(
        () => true,
        () => false,
      );
      if (linked) continue;
      const found = await store.get(key);
      if (found) await writeFile(to, found.bytes);
    }
    await writeFile(`${file}.unfinished`, "", { mode: 0o600 }); // readable by its owner only, as it has secrets
    await run("tar", ["-czf", `${file}.unfinished`, "-C", stage, "."]);
    await rename(`${file}.unfinished`, file);
  } finally {
    await rm(stage, { recursive: true, force: true });
    await rm(`${file}.unfinished`, { force: true });
  }
}

/** Unpacks an archive into a folder that has no service. Returns where the records are. */
export async function readArchive(file: string, dir: string): Promise<Archive> {
  if (await isThere(placesIn(dir).settings))
    throw new LocalError(`${dir} has a service already: restore into another folder.`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const stage = await mkdtemp(join(dir, "restore-"));
  try {
    await run("tar", ["-xzf", file, "-C", stage, "--no-same-owner"]).catch((cause) => {
      throw new LocalError(
        `${file} cannot be unpacked: ${String((cause as { stderr?: string }).stderr ?? cause).trim()}`,
        { cause },
      );
    });
    const text = await readFile(join(stage, MANIFEST), "utf8").catch(() => "null");
    const parsed = Archive.safeParse(JSON.parse(text));
    if (!parsed.success) throw new LocalError(`${file} is no archive of this release: ${MANIFEST} is absent or newer.`);
    // The settings come last: they make the folder a service.
    const names = (await readdir(stage)).filter((name) => name !== MANIFEST && name !== "settings.json");
    for (const name of [...names, "settings.json"]) await rename(join(stage, name), join(dir, name));
    return parsed.data;
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/**
 * Copies each SQLite database as of one moment, also while workerd writes to it.
 *
 * @returns The last exported event by `{customer}/{shard}`.
 */
async function snapshotDatabases(from: string, to: string): Promise<ReadonlyMap<string, number>> {
  const exported = new Map<string, number>();
  const names = (await isThere(from)) ? await readdir(from, { recursive: true }) : [];
  for (const name of names.filter((one) => one.endsWith(".sqlite"))) {
    await mkdir(dirname(join(to, name)), { recursive: true });
    const source = new DatabaseSync(join(from, name), { readOnly: true });
    try {
      await backUpDatabase(source, join(to, name));
    } finally {
      source.close();
    }
    const shard = shardIn(join(to, name));
    if (shard) exported.set(`${shard.customer}/${shard.shard}`, shard.exported);
  }
  return exported;
}

/** What a copied database says of itself, if it is a shard of events (edge/events/shard-tables.ts). */
function shardIn(path: string): { customer: string; shard: string; exported: number } | undefined {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const rows = database.prepare("SELECT name, value FROM state").all() as { name: string; value: string | number }[];
    const { customer, shard, exported = 0 } = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
    return customer === undefined
      ? undefined
      : { customer: String(customer), shard: String(shard), exported: Number(exported) };
  } catch {
    return undefined; // another object's database
  } finally {
    database.close();
  }
}

/** True for a file of events that its shard, as copied, has not exported yet. */
function isBeyond(key: string, exported: ReadonlyMap<string, number>): boolean {
  const customer = /^customers\/([^/]+)\/events\/files\//.exec(key)?.[1];
  const file = customer && eventFileOf(customer, key);
  if (!file) return false;
  const last = exported.get(`${customer}/${file.shard}`);
  return last !== undefined && file.first > last;
}
