import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import {
  customerOfEventFile,
  type EventFile,
  type EventMarks,
  eventFileOf,
  eventFilesPrefix,
} from "../../shared/events/event-store.ts";
import type { ListedObject, ObjectStore } from "./object-store.ts";

export type StoredEventFile = EventFile & ListedObject;

/** No file has more text: an export has at most 10,000 rows, and merged files have at most 4 MB of compressed text. */
const TEXT_BYTES_MAX = 2 ** 30;
const gunzipped = promisify(gunzip);

/** The lines of an event file, given its compressed bytes. Throws Error if these are cut off or damaged. */
export const eventLines = (bytes: Uint8Array): Promise<Buffer> => gunzipped(bytes, { maxOutputLength: TEXT_BYTES_MAX });

/** All event files of a customer, by shard and in the order of their events. */
export async function listEventFiles(store: ObjectStore, customer: string): Promise<StoredEventFile[]> {
  return eventFilesAmong(customer, await Array.fromAsync(store.list(eventFilesPrefix(customer))));
}

/** The event files of all customers, also of those without models. */
export async function listAllEventFiles(store: ObjectStore): Promise<Map<string, StoredEventFile[]>> {
  const objects = new Map<string, ListedObject[]>();
  for await (const object of store.list("customers/")) {
    const customer = customerOfEventFile(object.key);
    if (customer === undefined) continue;
    const list = objects.get(customer) ?? [];
    list.push(object);
    objects.set(customer, list);
  }
  return new Map([...objects].map(([customer, list]) => [customer, eventFilesAmong(customer, list)]));
}

function eventFilesAmong(customer: string, objects: readonly ListedObject[]): StoredEventFile[] {
  const files = objects.flatMap((object) => {
    const file = eventFileOf(customer, object.key);
    return file ? [{ ...file, ...object }] : [];
  });
  return files.sort((a, b) => (a.shard < b.shard ? -1 : a.shard > b.shard ? 1 : a.first - b.first || b.last - a.last));
}

export type EventCutOff = {
  readonly files: readonly StoredEventFile[];
  /** The last event of each shard that these files have. */
  readonly marks: EventMarks;
  /** Files that come after a gap. Their events must not count as learnt, since a mark says that everything below it is. */
  readonly afterGap: readonly StoredEventFile[];
};

/**
 * The files that together have every event of their shards up to a mark. Old files may have been deleted, so a shard begins with its
 * first file. A file whose events are in a longer one is left out: it has been merged and is about to be deleted.
 *
 * @param files In the order of listEventFiles.
 */
export function cutOffOf(files: readonly StoredEventFile[]): EventCutOff {
  const marks: Record<string, number> = {};
  const taken: StoredEventFile[] = [];
  const afterGap: StoredEventFile[] = [];
  for (const file of files) {
    const mark = marks[file.shard];
    if (mark !== undefined && file.first <= mark) continue;
    const isNext = mark === undefined || file.first === mark + 1;
    if (isNext) marks[file.shard] = file.last;
    (isNext ? taken : afterGap).push(file);
  }
  return { files: taken, marks, afterGap };
}
