/** Bytes to store: whole in memory, or a Blob (such as `fs.openAsBlob` gives) that is read piece by piece. */
export type ObjectBody = Uint8Array | Blob;
export type ByteRange = { readonly offset: number; readonly length: number };
export type StoredObject = { readonly bytes: Uint8Array; readonly etag: string };
export type ListedObject = { readonly key: string; readonly size: number; readonly modifiedMs: number };

/**
 * Bytes under keys, with the conditions that publishing stands on. R2 over S3 in production, memory in tests.
 * Keys consist of A-Z a-z 0-9 _ . - and /. Every method throws StoreError when the store cannot do it.
 */
export interface ObjectStore {
  /** Stores immutable bytes; a key that exists already keeps its bytes and is no error. */
  putIfAbsent(key: string, body: ObjectBody, contentType: string): Promise<void>;
  /** The object, or the part of it inside the range; a range past the end gives what there is. */
  get(key: string, range?: ByteRange): Promise<StoredObject | undefined>;
  /** Size in bytes, or undefined when absent. */
  head(key: string): Promise<number | undefined>;
  /**
   * Writes only if the key still has this etag (null: only if it is absent).
   * @returns the new etag, or undefined when somebody else was first.
   */
  swap(key: string, bytes: Uint8Array, etag: string | null): Promise<string | undefined>;
  /** Keys with this prefix, in order, lazily. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Removes the object; an absent key is no error. */
  delete(key: string): Promise<void>;
}

/** The store did not do what was asked: names the operation, the key, what was answered and what to check. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /** Whether the same call may succeed later without anybody changing anything. */
  readonly retryable: boolean;

  constructor(message: string, options: ErrorOptions & { retryable?: boolean } = {}) {
    super(message, options);
    this.retryable = options.retryable ?? false;
  }
}

const KEY = /^[A-Za-z0-9][A-Za-z0-9_.-]*(\/[A-Za-z0-9][A-Za-z0-9_.-]*)*$/;
const KEY_LENGTH_MAX = 1024;

/** Refuses a key that would mean something else to some store or proxy: `..`, `//`, spaces, percent signs. */
export function checkKey(key: string): void {
  if (KEY.test(key) && key.length <= KEY_LENGTH_MAX) return;
  throw new StoreError(
    `An object key must consist of A-Z a-z 0-9 _ . - between slashes; this one is ${JSON.stringify(key)}.`,
  );
}
