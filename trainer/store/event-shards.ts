import {
  EventMarks,
  EventShards,
  eventShardsKey,
  learntMarksKey,
  SHARDS_DEFAULT,
} from "../../shared/events/event-store.ts";
import { listEventFiles } from "./event-files.ts";
import { changeObject, type ObjectStore, StoreError, storedJson } from "./object-store.ts";

/** An edge uses a list of shards for ten seconds, and a shard recognises repeated events for eight days. */
const RETIRED_MS = 9 * 24 * 3_600_000;
const GENERATIONS_MAX = 4;

/**
 * Changes the number of a customer's shards. New events go to a new generation of shards. The older ones are still read,
 * and are dropped once every version has learnt their events and none of these can be repeated.
 *
 * @param shards Absent: only drops generations.
 */
export async function changeEventShards(
  store: ObjectStore,
  {
    customer,
    shards,
    nowMs,
  }: { readonly customer: string; readonly shards?: number | undefined; readonly nowMs: number },
): Promise<EventShards> {
  const unlearnt = await unlearntShards(store, customer);
  let list: EventShards | undefined;
  await changeObject(store, eventShardsKey(customer), (found) => {
    const { generations } = found ? EventShards.parse(storedJson(found.bytes)) : { generations: [] };
    const kept = generations.filter(({ id }, i) => {
      const retiredMs = Date.parse(generations[i + 1]?.since ?? "") + RETIRED_MS;
      return !(retiredMs <= nowMs) || unlearnt.some((shard) => shard.startsWith(`${id}-`));
    });
    const last = kept.at(-1) ?? { id: -1, shards: 0 };
    const isChanged = last.shards !== (shards ?? (last.shards || SHARDS_DEFAULT));
    if (isChanged && kept.length === GENERATIONS_MAX)
      throw new StoreError(
        `${customer} has events in ${GENERATIONS_MAX} generations of shards that some model has not learnt.`,
      );
    const added = { id: last.id + 1, shards: shards ?? SHARDS_DEFAULT, since: new Date(nowMs).toISOString() };
    list = EventShards.parse({ format: 1, generations: isChanged ? [...kept, added] : kept });
    return new TextEncoder().encode(JSON.stringify(list));
  });
  return list!;
}

/** The shards with exported events that some version of some model has not learnt. */
async function unlearntShards(store: ObjectStore, customer: string): Promise<string[]> {
  const stored = await store.get(learntMarksKey(customer));
  const learnt = stored ? EventMarks.parse(storedJson(stored.bytes)) : {};
  const files = await listEventFiles(store, customer);
  return files.filter(({ shard, last }) => last > (learnt[shard] ?? 0)).map(({ shard }) => shard);
}
