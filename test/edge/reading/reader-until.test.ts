import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReadError } from "../../../edge/reading/artifact-reader.ts";
import { readerUntil } from "../../../edge/reading/reader-until.ts";
import { memoryReader, type Stored } from "../../fixtures/edge-bucket.ts";
import { hashAtOnce } from "../../fixtures/hash-at-once.ts";

const BYTES = new TextEncoder().encode("a small file");
const MANY = new Uint8Array(19 * 2 ** 20).map((_, i) => i);
const descriptorOf = (bytes: Uint8Array) => ({
  media_type: "m",
  digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
  size: bytes.length,
});
const TIMEOUT_MS = 1000;
const END_MS = 5000;

let readMs: number;
const holding = (bytes: Uint8Array) => {
  const stored: Stored = async () => {
    await new Promise((resolve) => setTimeout(resolve, readMs));
    return bytes;
  };
  const { reader, reads } = memoryReader(new Map([["k", stored]]), TIMEOUT_MS);
  return { reader: readerUntil(reader, Date.now() + END_MS, Date.now), reads };
};
/** Reads, and gives what came of it a minute later. */
async function read({ reader }: ReturnType<typeof holding>, bytes: Uint8Array) {
  const startMs = Date.now();
  let tookMs = -1;
  const reading = reader.file("k", descriptorOf(bytes)).finally(() => (tookMs = Date.now() - startMs));
  const settled = Promise.allSettled([reading]);
  await vi.advanceTimersByTimeAsync(60_000);
  return { outcome: (await settled)[0], tookMs };
}

beforeEach(() => {
  vi.useFakeTimers();
  hashAtOnce();
  readMs = 0;
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test.each([BYTES, MANY])("in time it gives what the reader gives (%#)", async (bytes) => {
  const { outcome } = await read(holding(bytes), bytes);
  expect(outcome.status === "fulfilled" && Buffer.compare(outcome.value, bytes)).toBe(0);
});
test("reads of a large file that each keep their deadline end when the time is over, and one more begins at most", async () => {
  readMs = 1400; // of 1500 for a piece
  const slow = holding(MANY);
  let readsInTime = 0;
  setTimeout(() => (readsInTime = slow.reads.length), END_MS);
  const { outcome, tookMs } = await read(slow, MANY);
  expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(ReadError) });
  expect(tookMs).toBe(END_MS);
  expect(slow.reads.length).toBeLessThanOrEqual(readsInTime + 1);
});
test("a read that hangs fails by its own deadline when that comes first", async () => {
  readMs = 10_000;
  const { outcome, tookMs } = await read(holding(BYTES), BYTES);
  expect(outcome).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("1001 ms") } });
  expect(tookMs).toBe(2002);
});
test.each([
  ["stops", 0],
  ["is too late", END_MS],
])("who %s lets go of what would be read next", async (_, waitMs) => {
  let isClosed = false;
  async function* pieces() {
    try {
      for (let offset = 0; ; offset++) yield { offset, bytes: BYTES };
    } finally {
      isClosed = true;
    }
  }
  const source = { pieces, file: () => Promise.reject(new Error("not asked for")) };
  const reader = readerUntil(source, Date.now() + END_MS, Date.now);
  const reading = (async () => {
    for await (const { offset } of reader.pieces("k", descriptorOf(BYTES))) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (offset === 3) break;
    }
  })();
  await Promise.all([Promise.allSettled([reading]), vi.advanceTimersByTimeAsync(60_000)]);
  expect(isClosed).toBe(true);
});
test("when the time is over nothing is read", async () => {
  const over = holding(BYTES);
  await vi.advanceTimersByTimeAsync(END_MS);
  const { outcome } = await read(over, BYTES);
  expect(outcome).toMatchObject({ reason: new ReadError("k: the time for reading is over") });
  expect(over.reads).toEqual([]);
});
