/**
 * Merges of users in a customer's event files. Events are deleted when they are old, but a merge is for good: before a file is deleted, its
 * merges are added to one object that has those of all deleted files.
 */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type ErasedUsers, isErased } from "../../shared/erased-users.ts";
import { StoredEvent } from "../../shared/events/event.ts";
import { oldMergesKey } from "../../shared/events/event-store.ts";
import { MERGE, type Merge, mergeOfLine } from "../../shared/events/merges.ts";
import { eventLines, type StoredEventFile } from "./event-files.ts";
import { changeObject, type ObjectStore } from "./object-store.ts";

const zipped = promisify(gzip);
const MARK = Buffer.from(JSON.stringify(MERGE));

/** The merges among the lines of an event file. Most files have none, so they are searched for before anything is parsed. */
export const mergesIn = (lines: Buffer): Merge[] => mergeLinesIn(lines).map((line) => mergeOfLine(parsed(line)));

function mergeLinesIn(lines: Buffer): string[] {
  if (!lines.includes(MARK)) return [];
  const texts = lines.toString().split("\n");
  return texts.filter((text) => text.includes(MARK.toString()) && parsed(text).type === MERGE);
}

const parsed = (line: string) => StoredEvent.parse(JSON.parse(line));

/** The merges of deleted files. */
export async function readOldMerges(store: ObjectStore, customer: string): Promise<Merge[]> {
  const found = await store.get(oldMergesKey(customer));
  return found === undefined ? [] : mergesIn(await eventLines(found.bytes));
}

/** Copies the merges of files that are about to be deleted. Repeating it changes nothing. */
export async function keepMerges(
  store: ObjectStore,
  customer: string,
  files: readonly StoredEventFile[],
): Promise<void> {
  const lines: string[] = [];
  for (const { key } of files) {
    const found = await store.get(key);
    if (found) lines.push(...mergeLinesIn(await eventLines(found.bytes)));
  }
  if (lines.length > 0) await changeLines(store, customer, async (before) => [...before, ...lines]);
}

export async function removeOldMerges(store: ObjectStore, customer: string, erased: ErasedUsers): Promise<void> {
  await changeLines(store, customer, async (before) => {
    const kept: string[] = [];
    for (const line of before) {
      const { from, to } = mergeOfLine(parsed(line));
      if (!(await isErased(erased, from)) && !(await isErased(erased, to))) kept.push(line);
    }
    return kept;
  });
}

/** Changes the lines of the object. Of several copies of a merge, one stays. */
async function changeLines(
  store: ObjectStore,
  customer: string,
  change: (lines: readonly string[]) => Promise<readonly string[]>,
): Promise<void> {
  await changeObject(store, oldMergesKey(customer), async (found) => {
    const before = found === undefined ? [] : mergeLinesIn(await eventLines(found.bytes));
    const changed = await change(before);
    const keyOf = (line: string) => JSON.stringify(mergeOfLine(parsed(line)));
    const unique = [...new Map(changed.map((line) => [keyOf(line), line])).values()];
    if (unique.length === before.length) return undefined; // nothing came or went
    return zipped(unique.map((line) => `${line}\n`).join(""));
  });
}
