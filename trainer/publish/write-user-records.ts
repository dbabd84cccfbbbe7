import {
  encodeUserDirectory,
  encodeUserPage,
  encodeUserRecord,
  GIANT_PAGE_BYTES_MAX,
  PAGE_BYTES_TARGET,
  PAGE_FILE_BYTES_MAX,
  type PageContent,
  pageBytesOf,
  type RecordContent,
} from "../../shared/user-records.ts";
import type { UserHistories } from "../read/spool/user-histories.ts";
import { StageError } from "../stage/stage-error.ts";

export type PackOptions = {
  /** Stores a file of pages, in the order of the manifest's `users.pages`. */
  readonly storePages: (bytes: Uint8Array) => Promise<void>;
  /** Number of the newest positive interactions that are kept for each user; at most 1,000. */
  readonly historyMax?: number;
  readonly signal?: AbortSignal | undefined;
  /** `fraction` is 0…1 of the users written. */
  readonly progress?: ((fraction: number) => void) | undefined;
  /** Size at which a new page file begins. */
  readonly fileBytesMax?: number;
};

const HISTORY_MAX = 500;
const HIGH_MAX = 2 ** 32 - 1;
const PAGES_WANTED = 160_000; // a directory of about 1 MB
const LARGEST_TARGET = 49_152;

/**
 * Packs every user's record into files of at most 64 MiB, with one file in memory at a time, and returns their directory. Throws
 * StageError when a record cannot be stored, or the signal's reason.
 */
export async function packUserRecords(
  histories: UserHistories,
  options: PackOptions,
): Promise<{ readonly directory: Uint8Array; readonly userCount: number }> {
  const fileBytesMax = options.fileBytesMax ?? PAGE_FILE_BYTES_MAX;
  const [firstHigh, pageBytes, pagesOfFile]: [number[], number[], number[]] = [[], [], []];
  let pages: Uint8Array[] = [];
  let filled = 0;
  let userCount = 0;
  const endFile = async () => {
    if (pages.length === 0) return;
    const file = new Uint8Array(filled);
    let at = 0;
    for (const page of pages) {
      file.set(page, at);
      at += page.length;
    }
    await options.storePages(file);
    pagesOfFile.push(pages.length);
    pages = [];
    filled = 0;
  };
  for await (const page of pagesOf(histories, options)) {
    if (filled + page.bytes.length > fileBytesMax) await endFile();
    pages.push(page.bytes);
    filled += page.bytes.length;
    userCount += page.userCount;
    firstHigh.push(page.firstHigh);
    pageBytes.push(page.bytes.length);
  }
  await endFile();
  const { salt, itemCount } = histories;
  return {
    directory: encodeUserDirectory({ salt, userCount, itemCount, firstHigh, pageBytes, pagesOfFile }),
    userCount,
  };
}

type Page = { readonly firstHigh: number; readonly bytes: Uint8Array; readonly userCount: number };

type EncodedUser = PageContent["users"][number];

/** The pages in the order of hashes. A page ends only where the high words of two hashes differ, so that a hash has one page. */
async function* pagesOf(histories: UserHistories, { signal, progress, historyMax }: PackOptions): AsyncGenerator<Page> {
  let target = PAGE_BYTES_TARGET;
  let pending: EncodedUser[] = [];
  let recordBytes = 0;
  let firstHigh = 0;
  let done = 0;
  const closed = (lastHigh: number): Page => {
    const page = { firstHigh, bytes: closePage({ firstHigh, lastHigh, users: pending }), userCount: pending.length };
    pending = [];
    recordBytes = 0;
    firstHigh = lastHigh + 1;
    return page;
  };
  for await (const users of histories.batches()) {
    signal?.throwIfAborted();
    const batch = users.map(
      ({ hash, content }): EncodedUser => ({ hash, record: encodeRecord(content, histories.itemCount, historyMax) }),
    );
    if (done === 0) target = pageTarget(batch, histories.userCount);
    progress?.(done / histories.userCount);
    for (const user of batch) {
      const { hash, record } = user;
      const isFull = pageBytesOf(pending.length + 1, recordBytes + record.length) > target;
      if (isFull && pending.length > 0 && pending.at(-1)!.hash.high !== hash.high) yield closed(hash.high - 1);
      pending.push(user);
      recordBytes += record.length;
    }
    done += batch.length;
  }
  if (pending.length > 0) yield closed(HIGH_MAX);
  progress?.(1);
}

function closePage(content: PageContent): Uint8Array {
  const bytes = encodeUserPage(content);
  if (bytes.length <= GIANT_PAGE_BYTES_MAX) return bytes;
  throw new StageError(
    "deploying",
    "user_record_too_large",
    `A page of user records would have ${bytes.length} bytes, at most ${GIANT_PAGE_BYTES_MAX} can be read at once. ` +
      "Some user has interactions with millions of items: is it a technical account that the query should leave out?",
  );
}

function encodeRecord({ items, times, ...others }: RecordContent, itemCount: number, historyMax = HISTORY_MAX) {
  const from = Math.max(0, items.length - historyMax);
  const newest = <Values extends ArrayLike<number>>(values: Values) => Array.prototype.slice.call(values, from);
  return encodeUserRecord({ ...others, items: newest(items), times: newest(times) }, itemCount);
}

/** Target size of a page in bytes: larger than usual when there would be too many pages for a small directory. */
function pageTarget(sample: readonly EncodedUser[], userCount: number): number {
  let bytes = 0; // users are in the order of their hashes, so the first ones are a random sample
  for (const { record } of sample) bytes += pageBytesOf(1, record.length);
  const total = (bytes / Math.max(1, sample.length)) * userCount;
  return Math.min(LARGEST_TARGET, Math.max(PAGE_BYTES_TARGET, Math.ceil(total / PAGES_WANTED)));
}
