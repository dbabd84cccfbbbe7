/**
 * Recently read pages of user records. Users often come back within minutes, and all users of a small shop lie in a few pages, so most
 * calls need no read of R2, which answers from one region only. A page is part of an immutable file whose name contains its digest, so a
 * page that was valid once stays valid.
 */
import type { UserPage } from "../../shared/user-records.ts";
import { createReadLocks, READ_LOCK_MS } from "../reading/waiting.ts";

export type PageMemory = {
  /** The page must be used before the caller awaits anything: its bytes are freed when it is evicted. */
  get(key: string): UserPage | undefined;
  /** Takes ownership of the page and marks it as most recently used. */
  put(key: string, page: UserPage, nowMs: number): void;
  /** Whether the caller must read the page. It then calls `unlock` when the read has ended, whether or not the page was put. */
  tryLock(key: string, range: { readonly length: number }, nowMs: number): boolean;
  unlock(key: string): void;
  /** Evicts the least recently used pages until the rest fits into the capacity. */
  trim(nowMs: number): void;
  usedBytes(): number;
};

/** Estimated bytes of the objects around a page's bytes. */
const ENTRY_BYTES = 512;

/** The key of the page at an offset of an object. */
export const pageKey = (objectKey: string, offset: number) => `${objectKey}@${offset}`;

/** @param spareBytes Memory that is free for pages now. It shrinks when a version is loaded. */
export function pageMemory(bytesMax: number, spareBytes: (nowMs: number) => number): PageMemory {
  const pages = new Map<string, UserPage>(); // least recently used first
  const locks = createReadLocks(READ_LOCK_MS);
  let usedBytes = 0;
  const sizeOf = (page: UserPage) => page.bytes.byteLength + ENTRY_BYTES;
  const evict = (key: string, page: UserPage) => {
    pages.delete(key);
    usedBytes -= sizeOf(page);
    // Freed at once: the garbage collector would leave old pages in place until the isolate is nearly full.
    if (page.bytes.buffer instanceof ArrayBuffer) page.bytes.buffer.transfer(0);
  };
  const capacityAt = (nowMs: number) => Math.min(bytesMax, spareBytes(nowMs));
  const trim = (nowMs: number) => {
    const capacity = capacityAt(nowMs);
    for (const [key, page] of pages) {
      if (usedBytes <= capacity) return;
      evict(key, page);
    }
  };
  return {
    get(key) {
      const page = pages.get(key);
      if (page === undefined) return undefined;
      pages.delete(key);
      pages.set(key, page);
      return page;
    },
    put(key, page, nowMs) {
      const known = pages.get(key);
      if (known) evict(key, known);
      if (sizeOf(page) > capacityAt(nowMs)) return; // it would evict all other pages
      pages.set(key, page);
      usedBytes += sizeOf(page);
      trim(nowMs);
    },
    tryLock(key, { length }, nowMs) {
      if (length + ENTRY_BYTES > capacityAt(nowMs)) return true; // the page will not be kept, so each request reads it
      return locks.tryLock(key, nowMs);
    },
    unlock: locks.unlock,
    trim,
    usedBytes: () => usedBytes,
  };
}
