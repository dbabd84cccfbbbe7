import { hash as digestOf } from "node:crypto";
import { setImmediate as breathe } from "node:timers/promises";
import type { Hash64 } from "../../shared/hash.ts";
import { bytesAt, countOf, type PackedStrings } from "../../shared/packed-strings.ts";
import {
  encodeUserDirectory,
  encodeUserPage,
  encodeUserRecord,
  GIANT_PAGE_BYTES_MAX,
  PAGE_BYTES_TARGET,
  PAGE_FILE_BYTES_MAX,
  type PageContent,
  pageBytesOf,
} from "../../shared/user-records.ts";
import type { Interactions } from "../dataset/dataset.ts";
import { StageError } from "../stage-error.ts";
import { hashOrder } from "./hash-order.ts";

/** A finished file: page files in the order of the manifest's `users.pages`, then, last, the one directory. */
export type UserRecordFile = { readonly kind: "pages" | "directory"; readonly bytes: Uint8Array };

export type UserRecordOptions = {
  /** 16 to 64 bytes; the same salt gives the same bytes. */
  readonly salt: Uint8Array;
  /** Positive interactions kept per user, the newest; at most 1,000. */
  readonly historyMax?: number;
  readonly signal?: AbortSignal;
  /** `share` 0…1 of the users written. */
  readonly progress?: (share: number) => void;
  /** Where page files are cut. */
  readonly fileBytesMax?: number;
};

const HISTORY_MAX = 500;
const HIGH_MAX = 2 ** 32 - 1;
const SAMPLE_USERS = 2000;
const PAGES_WANTED = 160_000; // a directory of about 1 MB
const LARGEST_TARGET = 49_152;

/**
 * Every user's record, file by file: each at most 64 MiB, one in memory at a time. All interactions count as seen, the
 * positive ones are the history. Throws StageError when a record cannot be stored, or the signal's reason.
 */
export async function* writeUserRecords(
  interactions: Interactions,
  userIds: PackedStrings,
  options: UserRecordOptions,
): AsyncGenerator<UserRecordFile> {
  const fileBytesMax = options.fileBytesMax ?? PAGE_FILE_BYTES_MAX;
  const [firstHigh, pageBytes, pagesOfFile]: [number[], number[], number[]] = [[], [], []];
  let file = new Uint8Array(fileBytesMax);
  let filled = 0;
  let pages = 0;
  for await (const page of pagesOf(interactions, userIds, options)) {
    if (filled + page.bytes.length > file.length) {
      yield { kind: "pages", bytes: file.subarray(0, filled) };
      pagesOfFile.push(pages);
      file = new Uint8Array(Math.max(fileBytesMax, page.bytes.length));
      filled = 0;
      pages = 0;
    }
    file.set(page.bytes, filled);
    filled += page.bytes.length;
    pages++;
    firstHigh.push(page.firstHigh);
    pageBytes.push(page.bytes.length);
  }
  if (pages > 0) {
    yield { kind: "pages", bytes: file.slice(0, filled) };
    pagesOfFile.push(pages);
  }
  const { salt } = options;
  const { userCount, itemCount } = interactions;
  const bytes = encodeUserDirectory({ salt, userCount, itemCount, firstHigh, pageBytes, pagesOfFile });
  yield { kind: "directory", bytes };
}

type Page = { readonly firstHigh: number; readonly bytes: Uint8Array };

/** The pages, in the order of hashes, cut where the high words differ. */
async function* pagesOf(
  interactions: Interactions,
  userIds: PackedStrings,
  options: UserRecordOptions,
): AsyncGenerator<Page> {
  const { signal, progress } = options;
  const users = usersByHash(userIds, options.salt);
  const recordOf = (user: number) => encodeRecord(interactions, user, options.historyMax ?? HISTORY_MAX);
  const target = pageTarget(users.order, recordOf);
  let pending: PageContent["users"][number][] = [];
  let recordBytes = 0;
  let firstHigh = 0;
  for (const [done, user] of users.order.entries()) {
    const hash = users.hashOf(user);
    const record = recordOf(user);
    const isFull = pageBytesOf(pending.length + 1, recordBytes + record.length) > target;
    if (isFull && pending.length > 0 && pending.at(-1)!.hash.high !== hash.high) {
      yield { firstHigh, bytes: closePage({ firstHigh, lastHigh: hash.high - 1, users: pending }) };
      pending = [];
      recordBytes = 0;
      firstHigh = hash.high;
    }
    pending.push({ hash, record });
    recordBytes += record.length;
    if (done % 10_000 === 0) {
      signal?.throwIfAborted();
      progress?.(done / users.order.length);
      await breathe();
    }
  }
  if (pending.length > 0) yield { firstHigh, bytes: closePage({ firstHigh, lastHigh: HIGH_MAX, users: pending }) };
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

function encodeRecord(
  { userStart, items, times, positive, itemCount }: Interactions,
  user: number,
  historyMax: number,
) {
  const from = userStart[user]!;
  const to = userStart[user + 1]!;
  const seen = items.slice(from, to).sort();
  const history: number[] = []; // positions of the newest positive interactions, newest first
  for (let at = to - 1; at >= from && history.length < historyMax; at--) if (positive[at] === 1) history.push(at);
  history.reverse();
  return encodeUserRecord(
    {
      items: history.map((at) => items[at]!),
      times: history.map((at) => times[at]!),
      seen: seen.filter((item, i) => item !== seen[i - 1]),
    },
    itemCount,
  );
}

/** Bytes at which a page is cut: more than usual when there would be too many pages for a small directory. */
function pageTarget(order: Uint32Array, recordOf: (user: number) => Uint8Array): number {
  const sample = order.subarray(0, SAMPLE_USERS); // in the order of hashes, so it is random
  let bytes = 0;
  for (const user of sample) bytes += pageBytesOf(1, recordOf(user).length);
  const total = (bytes / Math.max(1, sample.length)) * order.length;
  return Math.min(LARGEST_TARGET, Math.max(PAGE_BYTES_TARGET, Math.ceil(total / PAGES_WANTED)));
}

/** Every user's hash, and the users in the order of their hashes. */
function usersByHash(userIds: PackedStrings, salt: Uint8Array) {
  const count = countOf(userIds);
  const high = new Uint32Array(count);
  const low = new Uint32Array(count);
  for (let user = 0; user < count; user++) {
    const digest = digestOf("sha256", Buffer.concat([salt, bytesAt(userIds, user)]), "buffer"); // as userHash does
    high[user] = digest.readUInt32BE(0);
    low[user] = digest.readUInt32BE(4);
  }
  const order = hashOrder(high, low);
  const hashOf = (user: number): Hash64 => ({ high: high[user]!, low: low[user]! });
  return { order, hashOf };
}
