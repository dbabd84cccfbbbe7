/**
 * Backups: one object per period with the models (specifications, schedules, states) and the records of API keys, as gzipped
 * JSON at `backups/{time}.json.gz`. Everything else is in the bucket anyway, or is computed again.
 */
import { gunzipSync, gzipSync } from "node:zlib";
import * as z from "zod";
import { forEachConcurrently } from "../../../shared/concurrently.ts";
import { CustomerId } from "../../../shared/key-record.ts";
import { ModelStatus } from "../../../shared/live-pointer.ts";
import { TrainingState } from "../../../shared/model-record.ts";
import { ModelName } from "../../../shared/model-spec.ts";
import { readLivePointer } from "../../store/live-pointer-swap.ts";
import { type ObjectStore, StoreError, storedJson } from "../../store/object-store.ts";
import type { Database } from "./database.ts";
import type { ModelRegistry } from "./model-registry.ts";
import type { Model } from "./model-transitions.ts";

const PREFIX = "backups/";
const BACKUPS_KEPT = 14;
const READS_AT_ONCE = 8;
const BYTES_MAX = 2 ** 30;

const time = z.iso.datetime();
/** Later releases may add fields. The specification is not checked again, as in the database. */
const StoredModel = z.looseObject({
  customer: CustomerId,
  modelName: ModelName,
  revision: z.int(),
  status: ModelStatus,
  spec: z.looseObject({ model_name: ModelName, train_schedule: z.string() }),
  specRevision: z.int(),
  createdAt: time,
  updatedAt: time,
  training: z.looseObject({ state: TrainingState, finishedAt: time.nullable(), nextRunAt: time.nullable() }),
});
const Backup = z.object({
  format: z.literal(1),
  created_at: time,
  models: z.array(StoredModel),
  /** Texts of objects by key. */
  key_records: z.record(z.string().regex(/^(keys|customers)\/[a-z0-9./-]+\.json$/), z.string()),
});

export type BackupParts = {
  readonly database: Database;
  readonly registry: ModelRegistry;
  readonly store: ObjectStore;
  readonly nowMs: () => number;
};

/** Writes the backup of this period, unless it is there, and deletes old backups. `hours` 0: none is written. */
export async function backUpRegularly(hours: number, parts: BackupParts): Promise<void> {
  if (hours === 0) return;
  const periodMs = hours * 3_600_000;
  const key = keyOf(Math.floor(parts.nowMs() / periodMs) * periodMs);
  if ((await parts.store.head(key)) === undefined) await backUp(key, parts);
}

/** Writes a backup now. Returns its name. */
export async function backUp(key: string | undefined, { registry, store, nowMs }: BackupParts): Promise<string> {
  const name = key ?? keyOf(nowMs());
  const models = [];
  for (const { customer, modelName } of await registry.names()) {
    const model = await registry.find(customer, modelName);
    if (model !== undefined && model.status !== "DESTROYING") models.push(model);
  }
  const content = {
    format: 1,
    created_at: new Date(nowMs()).toISOString(),
    models,
    key_records: await keyRecords(store),
  };
  await store.putIfAbsent(name, gzipSync(JSON.stringify(content)), "application/gzip");
  for (const old of (await backupNames(store)).slice(0, -BACKUPS_KEPT)) await store.delete(old);
  return name;
}

/**
 * Restores the newest backup, or the named one. Models and keys that exist stay as they are. A model whose live pointer is
 * absent was deleted after the backup and stays deleted. Interrupted runs are repeated by the trainer.
 *
 * @throws StoreError when there is no such backup, or it is damaged.
 */
export async function restore(name: string | undefined, { database, registry, store }: BackupParts) {
  const key = name ?? (await backupNames(store)).at(-1);
  const backup = await readBackup(store, key);
  for (const [record, text] of Object.entries(backup.key_records))
    await store.putIfAbsent(record, new TextEncoder().encode(text), "application/json");
  const restored: string[] = [];
  for (const stored of backup.models) {
    const model = stored as unknown as Model;
    const pointer = (await readLivePointer(store, model))?.pointer;
    if (pointer === undefined || pointer.status === "DESTROYING") continue;
    const finishedAt = model.training.finishedAt ?? backup.created_at;
    // Revision 0 says that no run has read the specification, so that the trainer schedules one.
    const specRevision = model.training.finishedAt === null ? 0 : model.training.specRevision;
    const whole = { ...model, training: { ...model.training, finishedAt, specRevision, progress: null } };
    if (await registry.insertModel(database, whole)) restored.push(`${model.customer}/${model.modelName}`);
  }
  return { name: key!, restored, found: backup.models.length };
}

async function readBackup(store: ObjectStore, key: string | undefined): Promise<z.infer<typeof Backup>> {
  const found = key === undefined ? undefined : await store.get(key);
  if (found === undefined)
    throw new StoreError(`There is no backup${key === undefined ? "" : ` ${key}`} in the bucket.`);
  const parsed = Backup.safeParse(storedJson(unpacked(found.bytes)));
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new StoreError(`${key} is not a backup (${path.join(".")}: ${message}): restore another one.`);
}

function unpacked(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: BYTES_MAX });
  } catch {
    return new Uint8Array(0); // refused as no JSON
  }
}

async function keyRecords(store: ObjectStore): Promise<Record<string, string>> {
  const keys: string[] = [];
  for (const prefix of ["keys/", "customers/"])
    for await (const { key } of store.list(prefix)) if (key.endsWith(".json")) keys.push(key);
  const texts: Record<string, string> = {};
  await forEachConcurrently(keys, READS_AT_ONCE, async (key) => {
    const found = await store.get(key);
    if (found !== undefined) texts[key] = new TextDecoder().decode(found.bytes);
  });
  return texts;
}

/** The keys of all backups, oldest first. */
async function backupNames(store: ObjectStore): Promise<string[]> {
  const names: string[] = [];
  for await (const { key } of store.list(PREFIX)) names.push(key);
  return names;
}

const keyOf = (ms: number) => `${PREFIX}${new Date(ms).toISOString().replace(/[-:]|\.\d+/g, "")}.json.gz`;
