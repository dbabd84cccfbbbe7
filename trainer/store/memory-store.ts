import { createHash } from "node:crypto";
import { checkKey, type ObjectBody, type ObjectStore } from "./object-store.ts";

type Entry = { readonly bytes: Uint8Array; readonly etag: string; readonly modifiedMs: number };

/** Objects in memory: the reference implementation. An etag is the MD5 of the bytes, as in R2. */
export function memoryStore(nowMs: () => number = Date.now): ObjectStore {
  const entries = new Map<string, Entry>();
  const write = (key: string, bytes: Uint8Array): string => {
    const etag = createHash("md5").update(bytes).digest("hex");
    entries.set(key, { bytes: bytes.slice(), etag, modifiedMs: nowMs() });
    return etag;
  };

  return {
    async putIfAbsent(key, body) {
      checkKey(key);
      const bytes = await bytesOf(body);
      if (!entries.has(key)) write(key, bytes);
    },
    async get(key, range) {
      checkKey(key);
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      const bytes = range ? entry.bytes.slice(range.offset, range.offset + range.length) : entry.bytes.slice();
      return { bytes, etag: entry.etag };
    },
    async head(key) {
      checkKey(key);
      return entries.get(key)?.bytes.length;
    },
    async swap(key, bytes, etag) {
      checkKey(key);
      if ((entries.get(key)?.etag ?? null) !== etag) return undefined;
      return write(key, bytes);
    },
    async *list(prefix) {
      const keys = [...entries.keys()].filter((key) => key.startsWith(prefix)).sort();
      for (const key of keys) {
        const entry = entries.get(key);
        if (entry) yield { key, size: entry.bytes.length, modifiedMs: entry.modifiedMs };
      }
    },
    async delete(key) {
      checkKey(key);
      entries.delete(key);
    },
  };
}

async function bytesOf(body: ObjectBody): Promise<Uint8Array> {
  return body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : body;
}
