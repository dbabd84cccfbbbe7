/**
 * Copies the bucket of a service of `npm run serve` into the bucket at Cloudflare. What is in a Durable Object cannot be copied: events
 * that no file has yet, and changed items. Objects that exist at the target stay, so a second copy continues the first.
 */
import { EventShards } from "../../shared/events/event-store.ts";
import { LocalError } from "../local/local-error.ts";
import { askTrainer } from "../serve/ask-trainer.ts";
import { readServeSettings } from "../serve/serve-settings.ts";
import { bucketOf, trainerUrlOf } from "../serve/service-parts.ts";
import { type ObjectStore, StoreError, storedJson } from "../store/object-store.ts";
import { s3Store } from "../store/s3-store.ts";
import { bucketOptions, type Step } from "./deployment.ts";

const SHARD_LIST = /^customers\/([a-z0-9-]+)\/events\/shards\.json$/;
const CHANGED_ITEMS = /^models\/[^/]+\/[^/]+\/items\//;

/** The step of `--from-local DIR`. */
export const copyLocal = (dir: string): Step => ({
  name: "copy",
  async look() {
    const keys = await keysOf(await sourceOf(dir));
    return { wanted: `copy the new ones of ${keys.length} objects of ${dir}. ${NOT_COPIED}` };
  },
  async change(deployment) {
    const target = s3Store(bucketOptions(deployment)!);
    const source = await sourceOf(dir);
    await saveRecords(dir);
    const keys = await keysOf(source);
    const known = new Set(await keysOf(target));
    // A new list of shards comes first: with the edge's own, new events would have numbers that a version has learnt.
    const lists = keys.filter((key) => SHARD_LIST.test(key));
    for (const key of lists) await copyShardList(key, { source, target, nowMs: deployment.nowMs });
    const copied = keys.filter((key) => !known.has(key) && !SHARD_LIST.test(key) && !CHANGED_ITEMS.test(key));
    // Files before the pointers that name them.
    const isJson = (key: string) => Number(key.endsWith(".json"));
    for (const key of copied.sort((a, b) => isJson(a) - isJson(b))) {
      const found = await source.get(key);
      const type = isJson(key) ? "application/json" : "application/octet-stream";
      if (found) await target.putIfAbsent(key, found.bytes, type);
    }
    return `${copied.length} objects copied, ${keys.length - copied.length} left as they are. ${NOT_COPIED} ${THEN}`;
  },
});

const NOT_COPIED =
  "Not copied: events of the last minute, and changed items (send them again, or hidden items come back). Events that a model has not learnt count from its next training on.";
const THEN = "Run npm run restore with the new settings file before the trainer's first start, for the records.";

const sourceOf = async (dir: string): Promise<ObjectStore> => bucketOf(dir, await readServeSettings(dir));

/** Saves the records to the source's bucket, so that the newest backup is of now. Only the running trainer can. */
async function saveRecords(dir: string): Promise<void> {
  const { forward_secret } = await readServeSettings(dir);
  try {
    await askTrainer(await trainerUrlOf(dir), forward_secret, "/operator/backup");
  } catch (cause) {
    if (cause instanceof LocalError) throw cause;
    throw new LocalError(`The service must run while it is copied: npm run serve -- --dir ${dir}.`, { cause });
  }
}

type Copied = { readonly source: ObjectStore; readonly target: ObjectStore; readonly nowMs: number };

/**
 * Writes a list with one new generation of shards. Its shards are empty and number their events from 1, so they need names that no
 * copied file and no mark of a version has.
 */
async function copyShardList(key: string, { source, target, nowMs }: Copied): Promise<void> {
  const found = await source.get(key);
  if (!found) return;
  const last = EventShards.parse(storedJson(found.bytes)).generations.at(-1)!;
  const since = new Date(nowMs).toISOString();
  const list: EventShards = { format: 1, generations: [{ id: last.id + 1, shards: last.shards, since }] };
  if ((await target.swap(key, new TextEncoder().encode(JSON.stringify(list)), null)) !== undefined) return;
  const existing = EventShards.parse(storedJson((await target.get(key))!.bytes));
  if (existing.generations[0]!.id > last.id) return; // of an earlier copy
  const customer = SHARD_LIST.exec(key)![1];
  throw new StoreError(`${customer} has events of its own at Cloudflare, so those of this machine cannot be added.`);
}

async function keysOf(store: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list("")) keys.push(key);
  return keys;
}
