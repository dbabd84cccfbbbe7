/** The customer's event files, copied from the bucket to a folder of the model. */
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { EventMeanings } from "../../../../shared/events/event.ts";
import type { EventMarks } from "../../../../shared/events/event-store.ts";
import { type Merge, personIds } from "../../../../shared/events/merges.ts";
import type { UserId } from "../../../../shared/ids.ts";
import { cutOffOf, eventLines, listEventFiles, type StoredEventFile } from "../../../store/event-files.ts";
import { forEachAtOnce } from "../../../store/for-each-at-once.ts";
import { mergesIn, readOldMerges } from "../../../store/merges.ts";
import type { ObjectStore } from "../../../store/object-store.ts";
import type { SourceFile } from "../duckdb/files.ts";
import { sourceError } from "../source-error.ts";

export type FetchedEvents = {
  readonly meanings: EventMeanings;
  /** For each id that was merged into another, the id of the person. */
  readonly persons: ReadonlyMap<UserId, UserId>;
  /** The copies, in the order of their events. */
  readonly files: readonly SourceFile[];
  /** The last event of each shard in these files: the cut-off of the run. */
  readonly marks: EventMarks;
  readonly warnings: readonly string[];
};

export type FetchOptions = {
  readonly store: ObjectStore;
  readonly customer: string;
  /** The copies stay in this folder, so that the next run fetches only new files. */
  readonly directory: string;
  readonly signal: AbortSignal;
  readonly progress?: (fraction: number) => void;
  /** For a sample: only the newest files, up to this size together. */
  readonly bytesMax?: number;
};

/** The folder of the copies, inside the model's folder. */
export const EVENTS_FOLDER = "events";

/**
 * Lists the event files once and copies those that are not in the folder yet. What is exported later belongs to the next version.
 *
 * @throws StageError `event_file_damaged`, `event_files_changed`; StoreError.
 */
export async function fetchEvents(meanings: EventMeanings, options: FetchOptions): Promise<FetchedEvents> {
  const { store, customer, directory, signal, progress, bytesMax } = options;
  const { files: all, marks, afterGap } = cutOffOf(await listEventFiles(store, customer));
  const oldMerges = await readOldMerges(store, customer); // after the files were listed, since upkeep moves merges before it deletes a file
  const files = bytesMax === undefined ? all : newestOf(all, bytesMax);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const wanted = new Set(files.map(nameOf).flatMap((name) => [name, mergesNameOf(name)]));
  const present = new Set<string>();
  for (const name of await readdir(directory))
    if (wanted.has(name)) present.add(name);
    else await rm(join(directory, name), { recursive: true, force: true });
  const missing = files.filter((file) => !present.has(nameOf(file)));
  let done = 0;
  const fetchNext = async (file: StoredEventFile) => {
    await fetchFile(store, file, join(directory, nameOf(file)));
    progress?.(++done / missing.length);
  };
  await forEachAtOnce(missing, fetchNext, signal);
  const merges = await Promise.all(files.map((file) => mergesBeside(join(directory, nameOf(file)))));
  return {
    meanings,
    persons: mergedIds([...oldMerges, ...merges.flat()]),
    files: files.map((file) => copyOf(file, directory)),
    marks,
    warnings: afterGap.slice(0, 1).map(gapWarning),
  };
}

/** The name of a copy. It has the time of the object, since upkeep replaces files from which it removes erased users. */
const nameOf = ({ shard, first, last, modifiedMs, size }: StoredEventFile) =>
  `${shard}_${first}-${last}_${modifiedMs}_${size}.ndjson.gz`;

const copyOf = (file: StoredEventFile, directory: string): SourceFile => {
  const path = join(directory, nameOf(file));
  return {
    path,
    realPath: path,
    shownAs: file.key,
    table: "events",
    format: "jsonl",
    compression: "gzip",
    sizeBytes: file.size,
    writtenMs: file.modifiedMs,
  };
};

/** The merges of a copied file lie beside it, so that no later run has to search its events for them. */
const mergesNameOf = (name: string) => `${name}.merges`;

const mergesBeside = async (path: string): Promise<Merge[]> =>
  MergeList.parse(JSON.parse(await readFile(mergesNameOf(path), "utf8").catch(() => "[]"))) as Merge[];

const MergeList = z.array(z.object({ from: z.string(), to: z.string() }));

const mergedIds = (merges: Iterable<Merge>) => new Map([...personIds(merges)].filter(([id, person]) => id !== person));

/** A file appears in the folder only once it is whole. */
async function fetchFile(store: ObjectStore, { key }: StoredEventFile, path: string): Promise<void> {
  const found = await store.get(key);
  if (found === undefined)
    throw sourceError({
      code: "event_files_changed",
      message: `The event file ${key} was deleted while it was being read`,
      retryable: true,
    });
  const lines = await eventLines(found.bytes).catch((error) => {
    throw damagedFile(`The event file ${key} is cut off or damaged: its gzip data do not end as they should`, error);
  });
  const merges = mergesIn(lines);
  if (merges.length > 0) await writeFile(mergesNameOf(path), JSON.stringify(merges), { flush: true });
  await writeFile(`${path}.unfinished`, found.bytes, { flush: true });
  await rename(`${path}.unfinished`, path);
}

export const damagedFile = (message: string, cause: unknown) =>
  sourceError(
    { code: "event_file_damaged", message: `${message}; the operator has to restore or delete it`, retryable: true },
    cause,
  );

function newestOf(files: readonly StoredEventFile[], bytesMax: number): StoredEventFile[] {
  let bytes = 0;
  return files
    .toSorted((a, b) => b.modifiedMs - a.modifiedMs)
    .filter(({ size }) => {
      bytes += size;
      return bytes <= bytesMax;
    });
}

const gapWarning = ({ shard, key }: StoredEventFile) =>
  `Events are missing before ${key}: later events of shard ${shard} are not learnt. The operator has to restore the missing files`;
