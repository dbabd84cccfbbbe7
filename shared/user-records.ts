import type { Hash64 } from "./hash.ts";
import type { UserRecord } from "./snapshot.ts";

/** Where a page lies: `file` is the position in the manifest's `users.pages`. */
export type PagePlace = { readonly file: number; readonly offset: number; readonly length: number };

export type UserDirectory = {
  readonly salt: Uint8Array;
  readonly pageCount: number;
  readonly fileCount: number;
  /** The one page that can hold this user; undefined when none can. */
  find(hash: Hash64): PagePlace | undefined;
};

/** Throws FormatError. */
export function decodeUserDirectory(_bytes: Uint8Array): UserDirectory {
  throw new Error("not built yet");
}

/** The user's record, or undefined when the user is not in the page. Throws FormatError for a page that lies. */
export function decodeUserPage(_page: Uint8Array, _hash: Hash64, _itemCount: number): UserRecord | undefined {
  throw new Error("not built yet");
}
