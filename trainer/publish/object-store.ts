/** Bytes under keys, with the conditions that publishing stands on. R2 over S3 in production, memory in tests. */
export interface ObjectStore {
  /** Stores immutable bytes; a key that exists already keeps its bytes and is no error. */
  putIfAbsent(key: string, bytes: Uint8Array, contentType: string): Promise<void>;
  get(key: string): Promise<{ readonly bytes: Uint8Array; readonly etag: string } | undefined>;
  /** Size in bytes, or undefined when absent. */
  head(key: string): Promise<number | undefined>;
  /**
   * Writes only if the key still has this etag (null: only if it is absent).
   * @returns the new etag, or undefined when somebody else was first.
   */
  swap(key: string, bytes: Uint8Array, etag: string | null): Promise<string | undefined>;
  /** Keys with this prefix, in order, lazily. */
  list(prefix: string): AsyncIterable<{ readonly key: string; readonly size: number; readonly modifiedMs: number }>;
  delete(key: string): Promise<void>;
}
