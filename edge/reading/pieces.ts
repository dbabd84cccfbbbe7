/**
 * Reads large files in pieces, since an isolate has no memory for a whole one beside its copy.
 *
 * Pieces come from the data centre's cache as far as it has them, and the rest is one stream from the bucket: one trip, however large the
 * file is. What nobody reads of a stream waits outside the isolate's memory, so several files may be open at a time.
 */
import { FormatError } from "../../shared/assert.ts";
import { hexOf } from "../../shared/hash.ts";
import type { Descriptor } from "../../shared/manifest.ts";
import type { ByteRange, ObjectCache } from "./cached-objects.ts";

/** Consecutive bytes of a file, starting at its byte `offset`. */
export type Piece = { readonly offset: number; readonly bytes: Uint8Array };

/**
 * A file from the first byte to the last. The digest is only checked at the end, so the pieces must not be trusted before that. After a
 * damaged cache entry, all pieces come again from the first. A piece is freed when the next one is requested. Each iteration reads anew.
 */
export type Pieces = AsyncIterable<Piece> & {
  /** Begins the trip now that the next iteration would begin. No piece is read yet. */
  open(): void;
};

/** Larger files are read in pieces of this size. */
export const PIECE_BYTES = 2 * 1024 * 1024;
/** Bytes that are read at a time, with those in use. */
const PASSING_BYTES = 3 * PIECE_BYTES;

type Bytes = Uint8Array<ArrayBuffer>;
type Source = {
  readonly cache: ObjectCache | undefined;
  /** The bytes of a file from `offset` on. Throws FormatError if the file is absent or has another size. */
  readonly openBucket: (key: string, size: number, offset: number) => Promise<ReadableStream>;
  /** Writes ranges of a file to the cache in the background. */
  readonly fill: (key: string, ranges: readonly ByteRange[]) => void;
  /** Tries a read twice, each time with a timeout. Throws ReadError, FormatError. */
  readonly get: <Value>(key: string, sizeBytes: number, read: () => Promise<Value>) => Promise<Value>;
};

/** The first piece in the cache, or a stream of the whole file. */
type Opened = { readonly cached: () => Promise<Bytes | undefined> } | { readonly stream: Promise<ReadableStream> };

export const piecesFrom =
  ({ cache, openBucket, fill, get }: Source) =>
  (key: string, descriptor: Descriptor, passingBytes = PASSING_BYTES): Pieces => {
    const { size } = descriptor;
    const openFirst = async (): Promise<Opened> => {
      const cached = await cache?.find(key, { offset: 0, length: Math.min(PIECE_BYTES, size) });
      if (cached) return { cached };
      const stream = openBucket(key, size, 0);
      stream.catch(() => undefined); // thrown, or tried again, when the first piece is read
      return { stream };
    };
    const streamFrom = (offset: number, opened?: Promise<ReadableStream>) =>
      streamed(size, offset, {
        open: (at) => (at === offset && opened ? opened : openBucket(key, size, at)),
        get: (length, read) => get(key, length, read),
      });
    let ahead: Promise<Opened> | undefined;

    async function* iterate(): AsyncGenerator<Piece> {
      const opening = ahead ?? openFirst();
      ahead = undefined;
      const opened = await opening;
      let missingFrom = "stream" in opened ? 0 : size;
      const cachedThenStreamed = async function* () {
        if ("stream" in opened) return yield* streamFrom(0, opened.stream);
        const readCached = (range: ByteRange) => (range.offset === 0 ? opened.cached() : cache!.read(key, range));
        let offset = 0;
        for await (const bytes of inOrder(size, readCached, passingBytes)) {
          if (bytes === undefined) break;
          offset += bytes.length;
          yield bytes;
        }
        missingFrom = offset;
        yield* streamFrom(offset);
      };
      try {
        yield* verified(key, descriptor, cachedThenStreamed());
      } catch (error) {
        if (!(error instanceof FormatError) || missingFrom === 0) throw error;
        missingFrom = 0; // a cache entry may be damaged
        yield* verified(key, descriptor, streamFrom(0));
      }
      if (missingFrom < size) fill(key, rangesFrom(missingFrom, size));
    }
    return {
      [Symbol.asyncIterator]: iterate,
      open() {
        ahead ??= openFirst();
      },
    };
  };

/** Joins the pieces of a file. Throws what reading them throws. */
export async function wholeOf(size: number, pieces: AsyncIterable<Piece>): Promise<Bytes> {
  const whole = new Uint8Array(size);
  for await (const { offset, bytes } of pieces) whole.set(bytes, offset);
  return whole;
}

/** The pieces of a file, whose digest is checked after the last one. Each is freed when the next one is requested. */
async function* verified(key: string, descriptor: Descriptor, inTurn: AsyncIterable<Bytes>): AsyncGenerator<Piece> {
  const hash = new crypto.DigestStream("SHA-256");
  hash.digest.catch(() => undefined); // it rejects when the caller stops reading
  const writer = hash.getWriter();
  let offset = 0;
  try {
    for await (const bytes of inTurn) {
      await writer.write(bytes);
      const { length } = bytes;
      yield { offset, bytes };
      offset += length;
      bytes.buffer.transfer(0);
    }
  } catch (error) {
    await writer.abort(error).catch(() => undefined);
    throw error;
  }
  await writer.close();
  checkDigest(key, descriptor, await hash.digest);
}

/** The ranges of a file in order. The next ones are read while one is in use. */
async function* inOrder<Value>(size: number, read: (range: ByteRange) => Promise<Value>, passingBytes: number) {
  const aheadMax = Math.max(1, Math.ceil(passingBytes / PIECE_BYTES) - 1);
  const ahead: Promise<Value>[] = [];
  const ranges = rangesFrom(0, size);
  const readAhead = () => {
    const piece = read(ranges.shift()!);
    piece.catch(() => undefined); // a failure is thrown when the piece's turn comes
    ahead.push(piece);
  };
  readAhead();
  for (let piece = ahead.shift(); piece; piece = ahead.shift()) {
    while (ranges.length > 0 && ahead.length < aheadMax) readAhead();
    yield await piece;
  }
}

function rangesFrom(from: number, size: number): ByteRange[] {
  const count = Math.ceil((size - from) / PIECE_BYTES);
  return Array.from({ length: count }, (_, i) => {
    const offset = from + i * PIECE_BYTES;
    return { offset, length: Math.min(PIECE_BYTES, size - offset) };
  });
}

type Streaming = {
  readonly open: (offset: number) => Promise<ReadableStream>;
  readonly get: <Value>(length: number, read: () => Promise<Value>) => Promise<Value>;
};

/** The pieces of a stream from `from` on. A stream that breaks or takes too long is opened again where it has arrived. */
async function* streamed(size: number, from: number, { open, get }: Streaming): AsyncGenerator<Bytes> {
  let reader: ReadableStreamBYOBReader | undefined;
  let attempts = 0;
  let isOver = false;
  const read = ({ offset, length }: ByteRange) =>
    get(length, async () => {
      if (isOver) throw new FormatError("nobody reads the stream any more"); // not tried again
      const attempt = ++attempts;
      const current = reader ?? (await open(offset)).getReader({ mode: "byob" });
      reader = undefined;
      const { value } = await current.readAtLeast(length, new Uint8Array(length));
      // A read whose time is over may end while the next one is under way.
      if (attempt !== attempts || value?.length !== length) {
        current.cancel().catch(() => undefined);
        throw new Error(`the stream ended after ${value?.length ?? 0} of ${length} bytes at ${offset}`);
      }
      reader = current;
      return value as Bytes;
    });
  try {
    const [first, ...others] = rangesFrom(from, size);
    let coming = first && read(first);
    while (coming) {
      const bytes: Bytes = await coming;
      const range = others.shift();
      coming = range && read(range);
      coming?.catch(() => undefined); // thrown when its turn comes
      yield bytes;
    }
  } finally {
    isOver = true;
    attempts++;
    reader?.cancel().catch(() => undefined);
  }
}

const written = (digest: ArrayBuffer) => `sha256:${hexOf(new Uint8Array(digest))}`;

/** The digest of bytes as descriptors write it. */
export const digestOf = async (bytes: Uint8Array<ArrayBuffer>) => written(await crypto.subtle.digest("SHA-256", bytes));

export function checkDigest(key: string, descriptor: Descriptor, digest: ArrayBuffer): void {
  const found = written(digest);
  if (found !== descriptor.digest)
    throw new FormatError(`${key}: expected digest ${descriptor.digest}, found ${found}`);
}
