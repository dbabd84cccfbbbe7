/**
 * Pages of users' records that were read of late. A user asks again within minutes, and a small shop's users all lie in a
 * few pages: their calls need no read of R2, which answers from one region only. A page is a part of an immutable file
 * under a name made of its digest, so what was whole once stays true.
 */
import type { UserPage } from "../../shared/user-records.ts";
import { CLAIM_MS, createClaims } from "../reading/claims.ts";

export type PageMemory = {
  /** To be read at once: it is emptied when it is let go. */
  get(key: string): UserPage | undefined;
  /** Takes ownership of the page and marks it most recently used. */
  keep(key: string, page: UserPage, nowMs: number): void;
  /**
   * Whether the caller is to read the page: false while another does, for as long as a read takes. It is to be released when
   * the read has ended, kept or not.
   */
  claim(key: string, range: { readonly length: number }, nowMs: number): boolean;
  release(key: string): void;
  /** Lets go of the pages of these objects. */
  forget(objectKeys: ReadonlySet<string>): void;
  /** Lets go of what was used least recently, as far as there is no room for it any more. */
  trim(nowMs: number): void;
  /** Bytes of what is kept. */
  bytes(): number;
  /** Bytes of what may be kept now. */
  bytesMost(nowMs: number): number;
};

/** Of the objects around a page's bytes. */
export const ENTRY_BYTES = 512;

/** Under what a page of an object is kept. */
export const pageKey = (objectKey: string, offset: number) => `${objectKey}@${offset}`;
const objectOf = (key: string) => key.slice(0, key.lastIndexOf("@"));

/** @param roomBytes How much may be kept now: it shrinks when a version comes into memory. */
export function pageMemory(bytesMax: number, roomBytes: (nowMs: number) => number): PageMemory {
  const pages = new Map<string, UserPage>(); // the least recent first
  const claims = createClaims(CLAIM_MS);
  let used = 0;
  const sizeOf = (page: UserPage) => page.bytes.byteLength + ENTRY_BYTES;
  const drop = (key: string, page: UserPage) => {
    pages.delete(key);
    used -= sizeOf(page);
    // As garbage that has grown old, pages would be there until the isolate is nearly full.
    if (page.bytes.buffer instanceof ArrayBuffer) page.bytes.buffer.transfer(0);
  };
  const mostAt = (nowMs: number) => Math.min(bytesMax, roomBytes(nowMs));
  const trim = (nowMs: number) => {
    const most = mostAt(nowMs);
    for (const [key, page] of pages) {
      if (used <= most) return;
      drop(key, page);
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
    keep(key, page, nowMs) {
      const known = pages.get(key);
      if (known) drop(key, known);
      if (sizeOf(page) > mostAt(nowMs)) return; // the others are worth more
      pages.set(key, page);
      used += sizeOf(page);
      trim(nowMs);
    },
    claim(key, { length }, nowMs) {
      if (length + ENTRY_BYTES > mostAt(nowMs)) return true; // it will not be kept, so each reads its own
      return claims.take(key, nowMs);
    },
    release: claims.release,
    forget(objectKeys) {
      for (const [key, page] of pages) if (objectKeys.has(objectOf(key))) drop(key, page);
    },
    trim,
    bytes: () => used,
    bytesMost: mostAt,
  };
}
