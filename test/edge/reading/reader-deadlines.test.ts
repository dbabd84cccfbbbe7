import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReadError } from "../../../edge/reading/artifact-reader.ts";
import { DeadlineError } from "../../../edge/reading/deadline.ts";
import { callDeadline, readerWithDeadline } from "../../../edge/reading/reader-deadlines.ts";
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
  return { reader: readerWithDeadline(reader, Date.now() + END_MS, Date.now), reads };
};
/** Reads a file and returns the outcome, one simulated minute later. */
async function read({ reader }: ReturnType<typeof holding>, bytes: Uint8Array) {
  const startMs = Date.now();
  let tookMs = -1;
  const reading = reader.file("k", descriptorOf(bytes)).finally(() => (tookMs = Date.now() - startMs));
  const settled = Promise.allSettled([reading]);
  await vi.advanceTimersByTimeAsync(60_000);
  return { outcome: (await settled)[0], tookMs };
}

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  hashAtOnce();
  readMs = 0;
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test.each([BYTES, MANY])("before the deadline, a file is returned as by the reader itself (%#)", async (bytes) => {
  const { outcome } = await read(holding(bytes), bytes);
  expect(outcome.status === "fulfilled" && Buffer.compare(outcome.value, bytes)).toBe(0);
});
test("slow reads of a large file end at the common deadline, and at most one more begins", async () => {
  readMs = 1400; // of 1500 for a piece
  const slow = holding(MANY);
  let readsInTime = 0;
  setTimeout(() => (readsInTime = slow.reads.length), END_MS);
  const { outcome, tookMs } = await read(slow, MANY);
  expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(ReadError) });
  expect(tookMs).toBe(END_MS);
  expect(slow.reads.length).toBeLessThanOrEqual(readsInTime + 1);
});
test("a read that hangs fails at its own deadline if that is earlier", async () => {
  readMs = 10_000;
  const { outcome, tookMs } = await read(holding(BYTES), BYTES);
  expect(outcome).toMatchObject({ status: "rejected", reason: { message: expect.stringContaining("1001 ms") } });
  expect(tookMs).toBe(2002);
});
test.each([
  ["stops", 0],
  ["takes too long", END_MS],
])("a caller that %s closes the underlying reader", async (_, waitMs) => {
  let isClosed = false;
  async function* pieces() {
    try {
      for (let offset = 0; ; offset++) yield { offset, bytes: BYTES };
    } finally {
      isClosed = true;
    }
  }
  const source = { pieces, file: () => Promise.reject(new Error("not called")) };
  const reader = readerWithDeadline(source, Date.now() + END_MS, Date.now);
  const reading = (async () => {
    for await (const { offset } of reader.pieces("k", descriptorOf(BYTES))) {
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (offset === 3) break;
    }
  })();
  await Promise.all([Promise.allSettled([reading]), vi.advanceTimersByTimeAsync(60_000)]);
  expect(isClosed).toBe(true);
});
test("after the deadline nothing is read", async () => {
  const over = holding(BYTES);
  await vi.advanceTimersByTimeAsync(END_MS);
  const { outcome } = await read(over, BYTES);
  expect(outcome).toMatchObject({ reason: new ReadError("k: the time for reading is over") });
  expect(over.reads).toEqual([]);
});

const never = new Promise<never>(() => {});
const asIs = (bytes: Uint8Array) => bytes;
const RANGE = { offset: 0, length: 1 };
const READS = {
  json: (reader: ReturnType<typeof callOf>["reader"]) => reader.json("k", {} as never),
  changed: (reader: ReturnType<typeof callOf>["reader"]) => reader.changed("k", { etag: null, bytesMax: 1 }),
  range: (reader: ReturnType<typeof callOf>["reader"]) => reader.range("k", RANGE, asIs),
};
const callOf = () => {
  const { reader } = memoryReader(new Map([["k", () => never]]), 60_000);
  return callDeadline(reader, Date.now() + 1000, Date.now);
};

test.each(Object.entries(READS))("a call that reads (%s) ends at its deadline", async (_, read) => {
  const { reader, before } = callOf();
  const outcome = before<unknown>(read(reader)).catch((error: unknown) => [error, Date.now()]);
  await vi.advanceTimersByTimeAsync(1500);
  expect(await outcome).toEqual([expect.any(DeadlineError), 1000]);
});

test("the deadline counts from the start of the call, not of a later read", async () => {
  const { reader, before } = callOf();
  await vi.advanceTimersByTimeAsync(900);
  const outcome = before(reader.range("k", RANGE, asIs)).catch(() => Date.now());
  await vi.advanceTimersByTimeAsync(1500);
  expect(await outcome).toBe(1000);
});

test("a call that reads nothing sets no timer, and a finished call leaves none", async () => {
  const idle = callOf();
  expect(await idle.before(Promise.resolve(7))).toBe(7);
  expect(vi.getTimerCount()).toBe(0);
  const reading = callDeadline(
    memoryReader(new Map([["k", Uint8Array.of(1)]]), 60_000).reader,
    Date.now() + 1000,
    Date.now,
  );
  const reads = Promise.all([reading.reader.range("k", RANGE, asIs), reading.reader.range("k", RANGE, asIs)]);
  expect(await reading.before(reads)).toEqual([Uint8Array.of(1), Uint8Array.of(1)]);
  expect(vi.getTimerCount()).toBe(0);
});
