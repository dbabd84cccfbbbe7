import { type EventMarks, learntMarksKey } from "../../shared/events/event-store.ts";
import type { ModelRef } from "./live-pointer-swap.ts";
import { changeObject, type ObjectStore } from "./object-store.ts";
import { readManifest, storedVersions } from "./versions.ts";

/**
 * Writes which events every version of the customer's models has learnt, so that shards may forget them. All stored versions
 * count, because each may be activated again. The marks are computed from the bucket each time, so the next call repairs a failure.
 *
 * @param models All models of the customer.
 */
export async function writeLearntMarks(
  store: ObjectStore,
  customer: string,
  models: readonly ModelRef[],
): Promise<void> {
  const all: EventMarks[] = [];
  for (const model of models)
    for (const { version } of await storedVersions(store, model)) {
      const learnt = (await readManifest(store, model, version))?.events?.learnt;
      if (learnt) all.push(learnt);
    }
  if (all.length === 0) return;
  const bytes = new TextEncoder().encode(JSON.stringify(lowestMarks(all)));
  await changeObject(store, learntMarksKey(customer), (found) =>
    found && Buffer.compare(found.bytes, bytes) === 0 ? undefined : bytes,
  );
}

/** The lowest mark of each shard. A shard that one of them does not name has 0. */
export function lowestMarks(all: readonly EventMarks[]): EventMarks {
  const shards = Object.keys(all[0] ?? {}).filter((shard) => all.every((marks) => Object.hasOwn(marks, shard)));
  return Object.fromEntries(shards.map((shard) => [shard, Math.min(...all.map((marks) => marks[shard]!))]));
}
