import { ExpectedError } from "../expected-error.ts";

/** Bytes to store: in memory, or a Blob (such as from `fs.openAsBlob`) that is read in pieces. */
export type ObjectBody = Uint8Array | Blob;
export type ByteRange = { readonly offset: number; readonly length: number };
export type StoredObject = { readonly bytes: Uint8Array; readonly etag: string };
export type ListedObject = { readonly key: string; readonly size: number; readonly modifiedMs: number };

/**
 * Bytes under keys, with conditional writes. R2 in production (s3-store.ts), memory in tests. Keys consist of A-Z a-z 0-9 _ . - and /.
 * Every method throws StoreError when the store fails.
 */
export interface ObjectStore {
  /** Stores immutable bytes. A key that exists already keeps its bytes, without an error. */
  putIfAbsent(key: string, body: ObjectBody, contentType: string): Promise<void>;
  /** The object, or the part of it inside the range. A range beyond the end gives fewer bytes. */
  get(key: string, range?: ByteRange): Promise<StoredObject | undefined>;
  /** Size in bytes, or undefined when absent. */
  head(key: string): Promise<number | undefined>;
  /**
   * Writes only if the key still has this etag (null: only if it is absent).
   * @returns The new etag, or undefined when another writer was faster.
   */
  swap(key: string, bytes: Uint8Array, etag: string | null): Promise<string | undefined>;
  /** Keys with this prefix, in order, lazily. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Deletes the object. An absent key is no error. */
  delete(key: string): Promise<void>;
}

/** A failure of the store. Names the operation, the key, the answer and what to check. */
export class StoreError extends ExpectedError {
  override readonly name = "StoreError";
  /** True when the same call may succeed later although nobody changes anything. */
  readonly retryable: boolean;

  constructor(message: string, options: ErrorOptions & { retryable?: boolean } = {}) {
    super(message, options);
    this.retryable = options.retryable ?? false;
  }
}

const KEY = /^[A-Za-z0-9][A-Za-z0-9_.-]*(\/[A-Za-z0-9][A-Za-z0-9_.-]*)*$/;
const KEY_LENGTH_MAX = 1024;

/** Refuses keys that a store or proxy could read differently: with `..`, `//`, spaces or percent signs. */
export function checkKey(key: string): void {
  if (KEY.test(key) && key.length <= KEY_LENGTH_MAX) return;
  throw new StoreError(
    `An object key must consist of A-Z a-z 0-9 _ . - between slashes; this one is ${JSON.stringify(key)}.`,
  );
}

const LOST_RACES_MAX = 20;

/**
 * Changes an object over the etag that was read. When another writer was faster, `change` is called again with what that one wrote.
 *
 * @param change Returns the new bytes, or undefined to leave the object. Called with undefined when the object is absent.
 */
export async function changeObject(
  store: ObjectStore,
  key: string,
  change: (found: StoredObject | undefined) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
): Promise<void> {
  for (let lost = 0; lost < LOST_RACES_MAX; lost++) {
    const found = await store.get(key);
    const next = await change(found);
    if (next === undefined || (await store.swap(key, next, found?.etag ?? null)) !== undefined) return;
  }
  throw new StoreError(`${key} was changed by others ${LOST_RACES_MAX} times in a row.`, { retryable: true });
}

/** The JSON value of stored bytes; undefined when they are not JSON. */
export function storedJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
