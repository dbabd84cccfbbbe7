/** Reads the bucket of models, and in front of it the data centre's cache for files that never change. No other file calls the bucket. */
import type * as z from "zod";
import { FormatError } from "../../shared/assert.ts";
import { hexOf } from "../../shared/hash.ts";
import type { Descriptor } from "../../shared/manifest.ts";
import { Problem, type ProblemCode } from "../../shared/problem.ts";
import type { ByteRange, ObjectCache } from "./cached-objects.ts";
import { checkDigest, PIECE_BYTES, type Pieces, piecesFrom, wholeOf } from "./pieces.ts";
import { DeadlineError, type RequestAccess, within } from "./waiting.ts";

/** The bucket could not be read: two attempts failed or took too long. */
export class ReadError extends Error {
  override readonly name = "ReadError";
}

/** Whether an object could not be read or is damaged. Any other error is a fault of this code. */
export const isUnreadable = (error: unknown) => error instanceof ReadError || error instanceof FormatError;

/** For `catch`: answers with a problem if an object is unreadable, and throws any other error. */
export const unreadableAs = (code: ProblemCode, detail: string) => (cause: unknown) => {
  if (!isUnreadable(cause)) throw cause;
  throw new Problem(code, `${detail}. Try again.`, { cause, retryAfterSeconds: 2 });
};

export type ArtifactReader = {
  /** A small JSON object, or undefined if it does not exist. Throws ReadError, FormatError. */
  json<Schema extends z.ZodType>(key: string, schema: Schema): Promise<z.infer<Schema> | undefined>;
  /** An object that may change. Returns "same" if it still has the given etag, undefined if it does not exist. Throws as above. */
  changed(
    key: string,
    known: { readonly etag: string | null; readonly bytesMax: number },
  ): Promise<{ readonly etag: string; readonly bytes: Uint8Array<ArrayBuffer> } | "same" | undefined>;
  /** A whole file, checked against its descriptor. Throws ReadError, FormatError. */
  file(key: string, descriptor: Descriptor): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * The same file in pieces (pieces.ts). Throws ReadError, FormatError.
   *
   * @param passingBytes How many bytes are read from the cache at a time. Default: those of three pieces.
   */
  pieces(key: string, descriptor: Descriptor, passingBytes?: number): Pieces;
  /** Reads exactly these bytes of a file, and opens them. `open` checks them, and throws FormatError. Throws ReadError, FormatError. */
  range<Value>(key: string, range: ByteRange, open: (bytes: Uint8Array<ArrayBuffer>) => Value): Promise<Value>;
  /** The same reader with one deadline for all its reads. Without it, many slow reads could each meet their timeout. */
  endingIn(ms: number): ArtifactReader;
};

/** What reading for a request needs. */
export type ReadAccess = RequestAccess & { readonly reader: ArtifactReader };

const JSON_BYTES_MAX = 65_536;
/** Extra time per byte of a body: one second for each 4 MiB. */
const MS_PER_BYTE = 1000 / (4 * 1024 * 1024);
/**
 * @param timeoutMs Timeout of one read, without the time that the size of its body adds.
 * @param endMs The deadline of all reads, on the isolate's clock.
 */
export function artifactReader(
  bucket: R2Bucket,
  timeoutMs: number,
  cache?: ObjectCache,
  endMs = Infinity,
): ArtifactReader {
  /** Retries a failed read once. A FormatError is not retried, since the content would be the same. */
  const get = async <Value>(key: string, sizeBytes: number, read: () => Promise<Value>): Promise<Value> => {
    for (let isRetry = false; ; isRetry = true) {
      try {
        const leftMs = endMs - Date.now();
        if (leftMs <= 0) throw new DeadlineError("the time for reading is over");
        return await within(Math.min(leftMs, timeoutMs + Math.ceil(sizeBytes * MS_PER_BYTE)), `reading ${key}`, read());
      } catch (cause) {
        if (cause instanceof FormatError) throw cause;
        const reason = cause instanceof Error ? cause.message : String(cause);
        if (isRetry) throw new ReadError(`${key} cannot be read: ${reason}`, { cause });
      }
    }
  };

  /** @param size The size of the whole file, if it is known. */
  const readBucket = async (key: string, range: ByteRange, size = Infinity) => {
    const bytes = await get(key, range.length, async () => {
      const object = await bucket.get(key, size > PIECE_BYTES ? { range } : {});
      if (object === null) throw new FormatError(`${key}: expected ${range.length} bytes, found no such object`);
      return bodyOf(object, (found) => size === Infinity || found === size || `${size} bytes`);
    });
    if (bytes.length !== range.length)
      throw new FormatError(`${key}: expected ${range.length} bytes at ${range.offset}, found ${bytes.length}`);
    return bytes;
  };

  /** Opens bytes from the cache or, if they are absent or damaged there, from the bucket. `open` throws FormatError for damaged bytes. */
  const readCached = async <Value>(
    key: string,
    range: ByteRange,
    { open, size }: { open: (bytes: Uint8Array<ArrayBuffer>) => Value | Promise<Value>; size?: number },
  ): Promise<Value> => {
    const cached = await cache?.read(key, range);
    try {
      if (cached) return await open(cached);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
    }
    const bytes = await readBucket(key, range, size);
    const value = await open(bytes);
    cache?.write(key, range, bytes);
    return value;
  };

  /** The bytes of a file from `offset` on, as a stream. */
  const openBucket = async (key: string, size: number, offset: number) => {
    const object = await bucket.get(key, { range: { offset, length: size - offset } });
    if (object === null) throw new FormatError(`${key}: expected ${size} bytes, found no such object`);
    await checkSize(object, (found) => found === size || `${size} bytes`);
    return object.body;
  };
  const fill = (key: string, ranges: readonly ByteRange[]) =>
    cache?.fill(key, ranges, async (range) => (await bucket.get(key, { range }))!.body);
  const pieces = piecesFrom({ cache, openBucket, fill, get });

  return {
    async json(key, schema) {
      const bytes = await get(key, 0, async () => {
        const object = await bucket.get(key);
        if (object === null) return undefined;
        const body = await bodyOf(object, (size) => size <= JSON_BYTES_MAX || `at most ${JSON_BYTES_MAX} bytes`);
        await checkMd5(object, body);
        return body;
      });
      return bytes && parsed(key, bytes, schema);
    },
    async changed(key, { etag, bytesMax }) {
      return get(key, 0, async () => {
        const object = await bucket.get(key, etag === null ? {} : { onlyIf: { etagDoesNotMatch: etag } });
        if (object === null) return undefined;
        if (!("body" in object)) return "same";
        const bytes = await bodyOf(object as R2ObjectBody, (size) => size <= bytesMax || `at most ${bytesMax} bytes`);
        return { etag: object.etag, bytes };
      });
    },
    async file(key, descriptor) {
      const { size } = descriptor;
      if (size > PIECE_BYTES) return wholeOf(size, pieces(key, descriptor));
      const open = async (bytes: Uint8Array<ArrayBuffer>) => {
        checkDigest(key, descriptor, await crypto.subtle.digest("SHA-256", bytes));
        return bytes;
      };
      return readCached(key, { offset: 0, length: size }, { open, size });
    },
    pieces,
    range: (key, range, open) => readCached(key, range, { open }),
    endingIn: (ms) => artifactReader(bucket, timeoutMs, cache, Math.min(endMs, Date.now() + ms)),
  };
}

/** @param verdictOn Whether the size is right, or what was expected. */
async function checkSize(object: R2ObjectBody, verdictOn: (size: number) => true | string): Promise<void> {
  const verdict = verdictOn(object.size);
  if (verdict === true) return;
  await object.body.cancel();
  throw new FormatError(`${object.key}: expected ${verdict}, found ${object.size}`);
}

/** Reads an object's body after its size has been checked. */
async function bodyOf(object: R2ObjectBody, verdictOn: (size: number) => true | string) {
  await checkSize(object, verdictOn);
  return new Uint8Array(await object.arrayBuffer());
}

/**
 * Checks the MD5 that the bucket keeps of an object's content. No file contains the digest of an object that may change, and one flipped
 * bit could be another customer's name.
 */
async function checkMd5({ key, checksums }: R2ObjectBody, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  if (!checksums?.md5) return; // the bucket keeps none for objects that were uploaded in parts
  const [expected, found] = [checksums.md5, await crypto.subtle.digest("MD5", bytes)].map((md5) =>
    hexOf(new Uint8Array(md5)),
  );
  // Not a FormatError, so that the read is retried.
  if (expected !== found) throw new Error(`${key}: expected MD5 ${expected}, found ${found}`);
}

/** Parses JSON bytes by a schema. Throws FormatError. */
export function parsed<Schema extends z.ZodType>(key: string, bytes: Uint8Array, schema: Schema): z.infer<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
  } catch (cause) {
    throw new FormatError(`${key}: expected JSON`, { cause });
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new FormatError(`${key}: ${issue?.path.join(".") || "the object"}: ${issue?.message}`);
}
