/** Reads from the models' bucket; the only file that knows it. */
import type { z } from "zod";
import { FormatError } from "../shared/assert.ts";
import type { Descriptor } from "../shared/manifest.ts";
import { within } from "./deadline.ts";

/** The bucket could not be read, twice in a row or for too long. */
export class ReadError extends Error {
  override readonly name = "ReadError";
}

export type ArtifactReader = {
  /** A small JSON object, or undefined when absent. Throws ReadError, FormatError. */
  json<Schema extends z.ZodType>(key: string, schema: Schema): Promise<z.infer<Schema> | undefined>;
  /** A small object that changes: "same" when its etag is still the given one, undefined when absent. Throws as above. */
  changed(
    key: string,
    known: { readonly etag: string | null; readonly bytesMax: number },
  ): Promise<{ readonly etag: string; readonly bytes: Uint8Array<ArrayBuffer> } | "same" | undefined>;
  /** A whole file that is what its descriptor says. Throws ReadError, FormatError. */
  file(key: string, descriptor: Descriptor): Promise<Uint8Array<ArrayBuffer>>;
  /** Exactly these bytes of a file; nothing but their number is checked. Throws ReadError, FormatError. */
  range(key: string, range: { readonly offset: number; readonly length: number }): Promise<Uint8Array<ArrayBuffer>>;
  /** Throws ReadError when the bucket does not answer. */
  probe(): Promise<void>;
};

const JSON_BYTES_MAX = 65_536;
/** Bodies may take this long in addition, per byte: one second for each 4 MiB. */
const MS_PER_BYTE = 1000 / (4 * 1024 * 1024);
/** Larger files are read in pieces. */
const PIECE_BYTES = 8 * 1024 * 1024;
const PIECES_AT_ONCE = 2;
const PROBE_KEY = "health";

export function artifactReader(bucket: R2Bucket, timeoutMs: number): ArtifactReader {
  const get = (key: string, sizeBytes: number, read: () => Promise<Uint8Array<ArrayBuffer> | undefined>) =>
    twice(key, () => within(timeoutMs + Math.ceil(sizeBytes * MS_PER_BYTE), `reading ${key}`, read()));

  return {
    async json(key, schema) {
      const bytes = await get(key, 0, async () => {
        const object = await bucket.get(key);
        if (object === null) return undefined;
        return bodyOf(object, (size) => size <= JSON_BYTES_MAX || `at most ${JSON_BYTES_MAX} bytes`);
      });
      return bytes && parsed(key, bytes, schema);
    },
    async changed(key, { etag, bytesMax }) {
      const options = etag === null ? {} : { onlyIf: { etagDoesNotMatch: etag } };
      return twice(key, () => within(timeoutMs, `reading ${key}`, changedBody(bucket, key, { options, bytesMax })));
    },
    async file(key, { size, digest }) {
      const bytes = await get(key, size, () => inPieces(bucket, key, size));
      const found = await digestOf(bytes!);
      if (found !== digest) throw new FormatError(`${key}: expected digest ${digest}, found ${found}`);
      return bytes!;
    },
    async range(key, range) {
      const bytes = await get(key, range.length, async () => {
        const object = await bucket.get(key, { range });
        if (object === null) throw new FormatError(`${key}: expected a range of bytes, found no such object`);
        return new Uint8Array(await object.arrayBuffer());
      });
      if (bytes!.length !== range.length)
        throw new FormatError(`${key}: expected ${range.length} bytes at ${range.offset}, found ${bytes!.length}`);
      return bytes!;
    },
    async probe() {
      await twice(PROBE_KEY, () => within(timeoutMs, "reading the bucket", bucket.head(PROBE_KEY)));
    },
  };
}

async function changedBody(
  bucket: R2Bucket,
  key: string,
  { options, bytesMax }: { readonly options: R2GetOptions; readonly bytesMax: number },
) {
  const object = await bucket.get(key, options);
  if (object === null) return undefined;
  if (!("body" in object)) return "same";
  const bytes = await bodyOf(object as R2ObjectBody, (size) => size <= bytesMax || `at most ${bytesMax} bytes`);
  return { etag: object.etag, bytes };
}

/** The size is checked before a byte is read. */
async function bodyOf(object: R2ObjectBody, isRight: (size: number) => true | string) {
  const verdict = isRight(object.size);
  if (verdict !== true) {
    await object.body.cancel();
    throw new FormatError(`${object.key}: expected ${verdict}, found ${object.size}`);
  }
  return new Uint8Array(await object.arrayBuffer());
}

/**
 * A whole file, read as ranges, two at a time: faster than in one piece, and the only copy besides the file is a piece's.
 */
async function inPieces(bucket: R2Bucket, key: string, size: number): Promise<Uint8Array<ArrayBuffer>> {
  const pieceAt = async (offset: number) => {
    const range = { offset, length: Math.min(PIECE_BYTES, size - offset) };
    const object = await bucket.get(key, size > PIECE_BYTES ? { range } : {});
    if (object === null) throw new FormatError(`${key}: expected ${size} bytes, found no such object`);
    return bodyOf(object, (found) => found === size || `${size} bytes`);
  };
  const start = await pieceAt(0);
  if (size <= PIECE_BYTES) return start;

  const whole = new Uint8Array(size);
  const put = (offset: number, bytes: Uint8Array) => {
    if (bytes.length !== Math.min(PIECE_BYTES, size - offset))
      throw new FormatError(`${key}: found ${bytes.length} bytes at ${offset}`);
    whole.set(bytes, offset);
  };
  put(0, start);
  let next = PIECE_BYTES;
  const work = async () => {
    while (next < size) {
      const offset = next;
      next += PIECE_BYTES;
      put(offset, await pieceAt(offset));
    }
  };
  await Promise.all(Array.from({ length: PIECES_AT_ONCE }, work));
  return whole;
}

/** Tries once more when the bucket failed; what a file says is the same the second time. */
async function twice<T>(key: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (first) {
    if (first instanceof FormatError) throw first;
  }
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof FormatError) throw cause;
    throw new ReadError(`${key} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return `sha256:${Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** The value of JSON bytes by its schema. Throws FormatError. */
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
