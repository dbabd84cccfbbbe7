import { createHash } from "node:crypto";
import { afterEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { artifactReader, parsed, ReadError } from "../../../edge/reading/artifact-reader.ts";
import { PIECE_BYTES, wholeOf } from "../../../edge/reading/pieces.ts";
import { FormatError } from "../../../shared/assert.ts";
import { memoryBucket, memoryReader, type Stored } from "../../fixtures/edge-bucket.ts";
import { hashAtOnce } from "../../fixtures/hash-at-once.ts";

const BYTES = new TextEncoder().encode("the content of a file");
const descriptorOf = (bytes: Uint8Array) => ({
  media_type: "x",
  size: bytes.length,
  digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
});
const holding = (stored: Stored) => memoryReader(new Map([["k", stored]]));
const Shape = z.strictObject({ a: z.int() });

test("a file that matches its descriptor", async () =>
  expect(await holding(BYTES).reader.file("k", descriptorOf(BYTES))).toEqual(BYTES));
test("a file of another size is refused before it is read, and not retried", async () => {
  const { reader, reads } = holding(BYTES);
  const longer = { ...descriptorOf(BYTES), size: BYTES.length + 1 };
  await expect(reader.file("k", longer)).rejects.toThrow(new FormatError("k: expected 22 bytes, found 21"));
  expect(reads.length).toBe(1);
});
const MANY = Uint8Array.from({ length: 6 * 2 ** 20 + 5 }, (_, i) => (i * 2_654_435_761) >>> 24);
test("a large file is one read", async () => {
  const { reader, reads } = holding(MANY);
  expect(Buffer.compare(await reader.file("k", descriptorOf(MANY)), MANY)).toBe(0);
  expect(reads.length).toBe(1);
});
test("pieces come in order, and each is freed before the next", async () => {
  const { reader } = holding(MANY);
  let [next, before] = [0, new Uint8Array(0)];
  for await (const { offset, bytes } of reader.pieces("k", descriptorOf(MANY))) {
    expect([offset, before.length]).toEqual([next, 0]);
    expect(Buffer.compare(bytes, MANY.subarray(next, next + bytes.length))).toBe(0);
    [next, before] = [next + bytes.length, bytes as Uint8Array<ArrayBuffer>];
  }
  expect(next).toBe(MANY.length);
});
test("a wrong file throws after its last piece, an absent one at once; a small file is one piece", async () => {
  const flipped = MANY.slice();
  flipped[1]! ^= 1;
  const read = async (stored: Stored, descriptor = descriptorOf(MANY)) => {
    let bytes = 0;
    for await (const piece of holding(stored).reader.pieces("k", descriptor)) bytes += piece.bytes.length;
    return bytes;
  };
  await expect(read(flipped)).rejects.toThrow(/expected digest/);
  await expect(read(async () => null)).rejects.toThrow("found no such object");
  expect(await read(BYTES, descriptorOf(BYTES))).toBe(BYTES.length);
});
test("a stream that breaks is opened again where it has arrived, once for each piece", async () => {
  const { bucket } = memoryBucket(new Map([["k", MANY]]));
  const offsets: number[] = [];
  let reads = 0;
  const get = async (key: string, options: { range: { offset: number; length: number } }) => {
    offsets.push(options.range.offset);
    const object = (await bucket.get(key, options))!;
    const reader = object.body.getReader({ mode: "byob" });
    const readAtLeast: typeof reader.readAtLeast = async (least, view) => {
      if (++reads % 2 === 0) throw new Error("the connection was lost");
      return reader.readAtLeast(least, view);
    };
    return { ...object, body: { getReader: () => ({ ...reader, readAtLeast }) } };
  };
  const reader = artifactReader({ get } as unknown as R2Bucket, 50);
  expect(Buffer.compare(await reader.file("k", descriptorOf(MANY)), MANY)).toBe(0);
  expect(offsets).toEqual([0, 1, 2, 3].map((piece) => piece * PIECE_BYTES));
});
test("a file may be open before its pieces are read, and be read again", async () => {
  const { reader, reads } = holding(MANY);
  const pieces = reader.pieces("k", descriptorOf(MANY));
  pieces.open();
  await expect.poll(() => reads.length).toBe(1);
  for (let again = 1; again <= 2; again++) {
    expect(Buffer.compare(await wholeOf(MANY.length, pieces), MANY)).toBe(0);
    expect(reads.length).toBe(again);
  }
});
test("one bit changed in the last piece of a large file is found", async () => {
  const flipped = MANY.slice();
  flipped[flipped.length - 1]! ^= 1;
  await expect(holding(flipped).reader.file("k", descriptorOf(MANY))).rejects.toThrow(/expected digest/);
});
test("a large file of another size is refused, and not retried", async () => {
  const { reader, reads } = holding(MANY.subarray(0, -1));
  await expect(reader.file("k", descriptorOf(MANY))).rejects.toThrow("expected 6291461 bytes, found 6291460");
  expect(reads.length).toBe(1);
});
test("a file with one changed bit is refused by its digest, and not retried", async () => {
  const flipped = BYTES.slice();
  flipped[3]! ^= 1;
  const { reader, reads } = holding(flipped);
  await expect(reader.file("k", descriptorOf(BYTES))).rejects.toThrow(
    /k: expected digest sha256:\w+, found sha256:\w+/,
  );
  expect(reads.length).toBe(1);
});
test("an absent file is a format error, since the manifest names it", () =>
  expect(memoryReader(new Map()).reader.file("k", descriptorOf(BYTES))).rejects.toThrow(FormatError));

const asIs = (bytes: Uint8Array) => bytes;
test("returns exactly the range", async () =>
  expect(await holding(BYTES).reader.range("k", { offset: 4, length: 7 }, asIs)).toEqual(BYTES.slice(4, 11)));
test("a range of an absent object is refused, and not retried", async () => {
  const { reader, reads } = memoryReader(new Map());
  await expect(reader.range("k", { offset: 0, length: 7 }, asIs)).rejects.toThrow(
    new FormatError("k: expected 7 bytes, found no such object"),
  );
  expect(reads.length).toBe(1);
});
test("a range beyond the end is refused", () =>
  expect(holding(BYTES).reader.range("k", { offset: 20, length: 7 }, asIs)).rejects.toThrow(
    "expected 7 bytes at 20, found 1",
  ));

test("JSON is parsed by its schema; an absent object is undefined", async () => {
  expect(await holding('{"a":1}').reader.json("k", Shape)).toEqual({ a: 1 });
  expect(await memoryReader(new Map()).reader.json("k", Shape)).toBeUndefined();
});
test("JSON of the largest allowed size", async () => {
  const text = `"${"x".repeat(65_534)}"`;
  expect(await holding(text).reader.json("k", z.string())).toHaveLength(65_534);
  await expect(holding(`${text} `).reader.json("k", z.string())).rejects.toThrow("at most 65536 bytes, found 65537");
});
test.each([
  ["not JSON", "k: expected JSON"],
  ['{"a":1.5}', "k: a:"],
  [`"${"x".repeat(70_000)}"`, "k: expected at most 65536 bytes, found 70002"],
])("JSON that is wrong is refused: %.10s", (text, message) =>
  expect(holding(text).reader.json("k", Shape)).rejects.toThrow(message),
);
test("bytes that are not UTF-8 are not JSON", () =>
  expect(() => parsed("k", Uint8Array.of(0x22, 0xff, 0x22), z.string())).toThrow("k: expected JSON"));

test("a read that fails once is retried", async () => {
  let attempts = 0;
  const flaky = async () => {
    if (attempts++ === 0) throw new Error("internal error");
    return BYTES;
  };
  expect(await holding(flaky).reader.file("k", descriptorOf(BYTES))).toEqual(BYTES);
});
test("a format error of the second attempt is thrown as such", async () => {
  let attempts = 0;
  const { reader } = holding(async () => {
    if (attempts++ === 0) throw new Error("internal error");
    return null;
  });
  await expect(reader.file("k", descriptorOf(BYTES))).rejects.toThrow(FormatError);
});
test("a read that fails twice is a read error with its cause", async () => {
  const { reader, reads } = holding(() => Promise.reject(new Error("internal error")));
  await expect(reader.json("k", Shape)).rejects.toThrow(new ReadError("k cannot be read: internal error"));
  expect(reads.length).toBe(2);
});
test("a read that never ends is a read error", async () => {
  const { reader } = holding(() => new Promise(() => {}));
  await expect(reader.file("k", descriptorOf(BYTES))).rejects.toThrow("took longer than 51 ms");
});
test("an object is transferred only if it has changed", async () => {
  const objects = new Map<string, Stored>([["k", BYTES]]);
  const { reader } = memoryReader(objects);
  const found = await reader.changed("k", { etag: null, bytesMax: BYTES.length });
  if (found === undefined || found === "same") throw new Error("it has never been read");
  expect(found.bytes).toEqual(BYTES);
  expect(await reader.changed("k", { etag: found.etag, bytesMax: 0 })).toBe("same");
  objects.set("k", "other");
  expect(await reader.changed("k", { etag: found.etag, bytesMax: 5 })).toMatchObject({ etag: expect.any(String) });
  await expect(reader.changed("k", { etag: found.etag, bytesMax: 4 })).rejects.toThrow("at most 4 bytes, found 5");
  objects.delete("k");
  expect(await reader.changed("k", { etag: found.etag, bytesMax: 4 })).toBeUndefined();
});

const END_MS = 5000;
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
/** Reads a file by a reader with a deadline, and returns the outcome one simulated minute later. */
async function readByDeadline(bytes: Uint8Array, readMs: number, beginMs = 0) {
  vi.useFakeTimers({ now: 0 });
  hashAtOnce();
  const stored = () => new Promise<Uint8Array>((resolve) => setTimeout(resolve, readMs, bytes));
  const { reader, reads } = memoryReader(new Map([["k", stored]]), 1000);
  const { file } = reader.endingIn(END_MS);
  await vi.advanceTimersByTimeAsync(beginMs);
  let [tookMs, readsInTime] = [-1, 0];
  setTimeout(() => (readsInTime = reads.length), END_MS);
  const reading = file("k", descriptorOf(bytes)).finally(() => (tookMs = Date.now() - beginMs));
  const settled = Promise.allSettled([reading]);
  await vi.advanceTimersByTimeAsync(60_000);
  return { outcome: (await settled)[0], tookMs, reads: reads.length, readsInTime };
}
const LARGE = new Uint8Array(19 * 2 ** 20).map((_, i) => i);

test.each([BYTES, LARGE])("before the deadline, a file is returned as without one (%#)", async (bytes) => {
  const { outcome } = await readByDeadline(bytes, 0);
  expect(outcome.status === "fulfilled" && Buffer.compare(outcome.value, bytes)).toBe(0);
});
test("slow reads of a large file end at the common deadline, and no more begin", async () => {
  const slow = await readByDeadline(LARGE, 1400); // of 1500 for a piece
  expect(slow.outcome).toMatchObject({ status: "rejected", reason: expect.any(ReadError) });
  expect([slow.tookMs, slow.reads]).toEqual([END_MS, slow.readsInTime]);
});
test("a read that hangs fails at its own timeout if that is earlier", async () => {
  const { outcome, tookMs } = await readByDeadline(BYTES, 10_000);
  expect(outcome).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("1001 ms") } });
  expect(tookMs).toBe(2002);
});
test("after the deadline nothing is read", async () => {
  const { outcome, reads } = await readByDeadline(BYTES, 0, END_MS);
  expect(outcome).toMatchObject({ reason: new ReadError("k cannot be read: the time for reading is over") });
  expect(reads).toBe(0);
});
