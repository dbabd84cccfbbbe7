/**
 * Upkeep of a customer's event files. A shard writes up to one a minute, so neighbours are merged. Events of erased users are removed
 * within a day, and files whose events are all too old are deleted. Their merges of users are kept in another object.
 *
 * The ranges of the remaining files stay without gaps, and the last file of a shard stays: its name says where the numbers go on.
 * Every step may be repeated, also by two trainers at once. A run that meets a deleted file is tried again.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import * as z from "zod";
import { type ErasedUsers, erasedUsersKey, isErased } from "../../shared/erased-users.ts";
import { StoredEvent } from "../../shared/events/event.ts";
import { erasedFromEventsKey, eventFileKey } from "../../shared/events/event-store.ts";
import { MERGE, mergeOfLine } from "../../shared/events/merges.ts";
import type { UserId } from "../../shared/ids.ts";
import { deleteObjects } from "./delete-objects.ts";
import { readErasedUsers } from "./erased-list.ts";
import { cutOffOf, eventLines, type StoredEventFile } from "./event-files.ts";
import { keepMerges, removeOldMerges } from "./merges.ts";
import { changeObject, type ObjectStore, StoreError, storedJson } from "./object-store.ts";

export type TidyOptions = {
  readonly nowMs: number;
  /** Age after which events are deleted. */
  readonly retentionMs: number;
  readonly signal: AbortSignal;
};

/** Younger files are not merged, and parts of younger merged files not deleted: a run may be reading them. */
const SETTLED_MS = 3_600_000;
/** Files are merged up to this compressed size, so that the text of one fits into memory. */
const MERGED_BYTES = 4 * 2 ** 20;
/** The fewest neighbours that are merged: fewer would save too little. */
const MERGED_MIN = 24;
const zipped = promisify(gzip);

/** @param files All event files of the customer, in the order of listEventFiles. */
export async function tidyEventFiles(
  store: ObjectStore,
  customer: string,
  files: readonly StoredEventFile[],
  options: TidyOptions,
): Promise<void> {
  const isSettled = ({ modifiedMs }: StoredEventFile) => modifiedMs < options.nowMs - SETTLED_MS;
  const erasure = await pendingErasure(store, customer);
  for (const ofShard of Map.groupBy(files, ({ shard }) => shard).values()) {
    const chain = cutOffOf(ofShard).files;
    const isMerged = (file: StoredEventFile) => chain.some((whole) => isSettled(whole) && isInside(file, whole));
    const merged = ofShard.filter(isMerged);
    await deleteObjects(store, keysOf(merged), options);
    const old = await oldOf(store, chain, options);
    await keepMerges(store, customer, old);
    await deleteObjects(store, keysOf(old), options);
    if (erasure)
      for (const file of ofShard)
        if (!merged.includes(file) && !old.includes(file)) await rewriteWithout(store, file, erasure.erased);
    for (const group of groupsOf(chain.slice(old.length).filter(isSettled))) await merge(store, customer, group);
  }
  if (erasure) await removeOldMerges(store, customer, erasure.erased);
  if (erasure)
    await changeObject(store, erasedFromEventsKey(customer), () => Buffer.from(JSON.stringify(erasure.done)));
}

const keysOf = (files: readonly StoredEventFile[]) => files.map(({ key }) => key);

const isInside = (file: StoredEventFile, whole: StoredEventFile) =>
  file.key !== whole.key && file.first >= whole.first && file.last <= whole.last;

/** Neighbours that are to become one file. */
function groupsOf(chain: readonly StoredEventFile[]): StoredEventFile[][] {
  const groups: StoredEventFile[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const file of chain) {
    const isNext = groups.at(-1)?.at(-1)?.last === file.first - 1;
    if (isNext && bytes + file.size <= MERGED_BYTES) groups.at(-1)!.push(file);
    else groups.push([file]);
    bytes = groups.at(-1)!.reduce((sum, { size }) => sum + size, 0);
  }
  return groups.filter((group) => group.length >= MERGED_MIN);
}

/** Writes one file beside its parts, which are deleted once no run can be reading them. Gzip members may follow each other. */
async function merge(store: ObjectStore, customer: string, group: readonly StoredEventFile[]): Promise<void> {
  const parts: Uint8Array[] = [];
  for (const { key } of group) {
    const found = await store.get(key);
    if (found === undefined) return; // another trainer was faster
    parts.push(found.bytes);
  }
  const [{ shard, first }, { last }] = [group[0]!, group.at(-1)!];
  await store.putIfAbsent(eventFileKey(customer, { shard, first, last }), Buffer.concat(parts), "application/gzip");
}

/** The first files of a shard, as far as all their events are too old. */
async function oldOf(
  store: ObjectStore,
  chain: readonly StoredEventFile[],
  { nowMs, retentionMs }: TidyOptions,
): Promise<readonly StoredEventFile[]> {
  for (const [i, { key }] of chain.slice(0, -1).entries()) {
    const found = await store.get(key);
    const events = found ? await eventsIn(key, found.bytes) : [];
    const isYoung = ({ type, created_at }: StoredEvent) => type !== MERGE && created_at * 1000 >= nowMs - retentionMs;
    if (events.some(({ event }) => isYoung(event))) return chain.slice(0, i);
  }
  return chain.slice(0, -1);
}

async function rewriteWithout(store: ObjectStore, { key }: StoredEventFile, erased: ErasedUsers): Promise<void> {
  const found = await store.get(key);
  if (found === undefined) return;
  const events = await eventsIn(key, found.bytes);
  const gone = new Set<string>();
  for (const user of new Set(events.flatMap(({ event }) => usersOf(event))))
    if (await isErased(erased, user)) gone.add(user);
  const kept = events
    .filter(({ event }) => !usersOf(event).some((user) => gone.has(user)))
    .map(({ line }) => `${line}\n`);
  if (gone.size > 0) await store.swap(key, await zipped(kept.join("")), found.etag);
}

/** The users of a line: two if it is a merge. */
const usersOf = (event: StoredEvent): UserId[] => {
  if (event.type !== MERGE) return [event.user_id];
  const { from, to } = mergeOfLine(event);
  return [from, to];
};

async function eventsIn(key: string, bytes: Uint8Array) {
  try {
    const text = (await eventLines(bytes)).toString();
    const lines = text.split("\n").filter((line) => line !== "");
    return lines.map((line) => ({ line, event: StoredEvent.parse(JSON.parse(line)) }));
  } catch (cause) {
    throw new StoreError(`The event file ${key} is damaged: restore or delete it.`, { cause });
  }
}

const DoneErasure = z.object({ etag: z.string() });

/** The erased users, if their list has changed since all files were last rewritten. */
async function pendingErasure(store: ObjectStore, customer: string) {
  const list = await store.get(erasedUsersKey(customer));
  if (list === undefined) return undefined;
  const noted = await store.get(erasedFromEventsKey(customer));
  const { data } = DoneErasure.safeParse(noted && storedJson(noted.bytes));
  if (data?.etag === list.etag) return undefined;
  const erased = await readErasedUsers(store, customer);
  return erased && { erased, done: { etag: list.etag } };
}
