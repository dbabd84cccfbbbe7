import type { ListedObject, ObjectStore } from "./object-store.ts";

/** The keys that somebody needs at the moment of the call. */
export type Look = () => Promise<ReadonlySet<string>>;

const BATCH_BYTES = 64 * 2 ** 20;
const BATCH_OBJECTS_MAX = 100;
const RANGE_BYTES = 16 * 2 ** 20;

/**
 * Deletes the objects that nobody needs, and puts back what somebody has come to need in that moment.
 *
 * A deletion has no condition. So who begins to need an object writes that down first and looks for the object
 * then; and here the deletion comes first, and the look at what is written down then. In whichever order the four happen,
 * one of the two notices. Each batch is kept in memory until the look is over.
 *
 * @returns The keys that were deleted and have stayed so.
 */
export async function takeAway(
  store: ObjectStore,
  objects: readonly ListedObject[],
  { needed, signal }: { readonly needed: Look; readonly signal: AbortSignal },
): Promise<string[]> {
  const deleted: string[] = [];
  let inUse = await needed();
  for (const batch of batchesOf(objects)) {
    signal.throwIfAborted();
    const taken = new Map<string, Uint8Array>();
    try {
      for (const object of batch) {
        const bytes = inUse.has(object.key) ? undefined : await readWhole(store, object);
        if (bytes === undefined) continue; // nobody deletes what they cannot put back
        taken.set(object.key, bytes);
        await store.delete(object.key);
      }
    } finally {
      inUse = await putBack(store, taken, needed); // also when a deletion failed: it may have had its effect
    }
    deleted.push(...[...taken.keys()].filter((key) => !inUse.has(key)));
  }
  return deleted;
}

/** What is needed by now is stored again; everything is, if that cannot be found out. */
async function putBack(store: ObjectStore, taken: ReadonlyMap<string, Uint8Array>, needed: Look) {
  let inUse: ReadonlySet<string> = new Set(taken.keys());
  try {
    inUse = await needed();
  } finally {
    for (const [key, bytes] of taken)
      if (inUse.has(key)) await store.putIfAbsent(key, bytes, "application/octet-stream");
  }
  return inUse;
}

/** Undefined when somebody else has deleted or replaced it. */
async function readWhole(store: ObjectStore, { key, size }: ListedObject): Promise<Uint8Array | undefined> {
  if ((await store.head(key)) !== size) return undefined;
  const whole = new Uint8Array(size);
  for (let offset = 0; offset < size; offset += RANGE_BYTES) {
    const length = Math.min(RANGE_BYTES, size - offset);
    const part = await store.get(key, { offset, length });
    if (part?.bytes.length !== length) return undefined;
    whole.set(part.bytes, offset);
  }
  return whole;
}

function* batchesOf(objects: readonly ListedObject[]): Generator<ListedObject[]> {
  let batch: ListedObject[] = [];
  let bytes = 0;
  for (const object of objects) {
    if (batch.length === BATCH_OBJECTS_MAX || (batch.length > 0 && bytes + object.size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(object);
    bytes += object.size;
  }
  if (batch.length > 0) yield batch;
}
