/**
 * The data centre's cache (Cache API) in front of R2, which answers from one region only. It holds parts of objects that never change:
 * files of versions, pages of user records, and the customers of API keys. It holds no key records, live pointers or erased users.
 *
 * What the cache returns is not verified, so the caller checks it like an answer of R2. A cache that fails, or does nothing as on
 * workers.dev, is an empty cache. No call fails or waits for it.
 */
import { within } from "./waiting.ts";

export type ByteRange = { readonly offset: number; readonly length: number };

export type ObjectCache = {
  /** Exactly `length` bytes, or undefined. A damaged entry is replaced by writing it again. */
  read(key: string, range: ByteRange): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The same in two steps: whether there is an entry, and its bytes when they are wanted. */
  find(key: string, range: ByteRange): Promise<(() => Promise<Uint8Array<ArrayBuffer> | undefined>) | undefined>;
  /** Copies the bytes, and writes them in the background. */
  write(key: string, range: ByteRange, bytes: Uint8Array): void;
  /** Writes the ranges one after another in the background, from streams, so that the bytes are never in JavaScript. */
  fill(key: string, ranges: readonly ByteRange[], open: (range: ByteRange) => Promise<ReadableStream>): void;
  /** Removes an entry in the background. */
  remove(key: string, range: ByteRange): void;
};

/** The host does not exist, so no request from outside can have this address. */
const ORIGIN = "https://objects.shortlist.invalid";
/** A record of a user who was erased leaves the data centre within this time. */
const HEADERS = { "content-type": "application/octet-stream", "cache-control": "public, max-age=86400" };
/** A cache in the same building answers within milliseconds. After this time R2 is read instead. */
const TIMEOUT_MS = 500;

/** The address contains the whole key, and so the customer's prefix: no customer can reach another's objects. */
const addressOf = (key: string, { offset, length }: ByteRange) =>
  `${ORIGIN}/${encodeURIComponent(key)}?offset=${offset}&length=${length}`;

/**
 * @param open The cache, looked up for each use: it is an object of the request.
 * @param waitUntil The function of the current request.
 */
export function objectCache(open: () => Cache, waitUntil: (work: Promise<unknown>) => void): ObjectCache {
  const inBackground = (work: () => Promise<unknown>) => {
    try {
      waitUntil(work().catch(() => undefined));
    } catch {
      // The request has ended, so a later one writes or removes the entry.
    }
  };
  const put = (key: string, range: ByteRange, body: Uint8Array<ArrayBuffer> | ReadableStream) =>
    open().put(addressOf(key, range), new Response(body, { headers: HEADERS }));
  /** Undefined after a failure: R2 has the bytes too. */
  const inTime = <Value>(work: Promise<Value>) => within(TIMEOUT_MS, "reading the cache", work).catch(() => undefined);
  const bytesOf = async (found: Response, { length }: ByteRange) => {
    const bytes = new Uint8Array(await found.arrayBuffer());
    return bytes.length === length ? bytes : undefined;
  };
  const match = async (key: string, range: ByteRange) => open().match(addressOf(key, range));
  return {
    read: (key, range) => inTime(match(key, range).then((found) => found && bytesOf(found, range))),
    async find(key, range) {
      const found = await inTime(match(key, range));
      return found && (() => inTime(bytesOf(found, range)));
    },
    write(key, range, bytes) {
      const copy = new Uint8Array(bytes); // the caller may free the bytes
      inBackground(() => put(key, range, copy));
    },
    fill: (key, ranges, openRange) =>
      inBackground(async () => {
        for (const range of ranges) await put(key, range, await openRange(range));
      }),
    remove: (key, range) => inBackground(async () => open().delete(addressOf(key, range))),
  };
}
