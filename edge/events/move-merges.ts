import { EventShards, eventShardsKey, shardsOf } from "../../shared/events/event-store.ts";
import type { Bindings } from "../env.ts";
import { within } from "../reading/waiting.ts";
import { mergesAfter } from "./shard-merges.ts";
import type { ShardPlace, StoredMerge } from "./shard-rpc.ts";
import type { ShardTables } from "./shard-tables.ts";

const MOVED_AT_ONCE = 200;
const MOVE_MS_MAX = 30_000;

/**
 * After the number of shards has changed, copies some merges to the shards that their users have now, since a shard of an older generation
 * is dropped some days later and merges are for good. Returns whether more may be left.
 */
export async function moveMerges(
  tables: ShardTables,
  { customer, shard }: ShardPlace,
  { MODELS, EVENTS }: Bindings,
): Promise<boolean> {
  if (mergesAfter(tables, 0, 1).length === 0) return false;
  const key = eventShardsKey(customer);
  const stored = await within(
    MOVE_MS_MAX,
    `reading ${key}`,
    MODELS.get(key).then((object) => object?.json()),
  );
  const list = stored === undefined ? undefined : EventShards.parse(stored);
  const newest = list?.generations.at(-1)?.id;
  if (list === undefined || newest === undefined || EVENTS === undefined || shard.startsWith(`${newest}-`))
    return false;
  const moved = Number(tables.state("moved_to")) === newest ? Number(tables.state("moved") ?? 0) : 0;
  const merges = mergesAfter(tables, moved, MOVED_AT_ONCE);
  const ofShards = new Map<string, StoredMerge[]>();
  for (const merge of merges)
    for (const user of new Set([merge.from, merge.to])) {
      const [target] = await shardsOf(list, user);
      ofShards.set(target!, [...(ofShards.get(target!) ?? []), merge]);
    }
  for (const [target, own] of ofShards) {
    const call = EVENTS.getByName(`${customer}/${target}`).merge({ customer, shard: target }, own);
    await within(MOVE_MS_MAX, `the shard ${target}`, call);
  }
  tables.setState("moved_to", newest);
  if (merges.length > 0) tables.setState("moved", merges.at(-1)!.seq);
  return merges.length === MOVED_AT_ONCE;
}
