import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { callDeadline } from "../../../edge/reading/call-deadline.ts";
import { DeadlineError } from "../../../edge/reading/deadline.ts";
import { memoryReader } from "../../fixtures/edge-bucket.ts";

const never = new Promise<never>(() => {});
const RANGE = { offset: 0, length: 1 };
const READS = {
  json: (reader: ReturnType<typeof deadline>["reader"]) => reader.json("k", {} as never),
  changed: (reader: ReturnType<typeof deadline>["reader"]) => reader.changed("k", { etag: null, bytesMax: 1 }),
  range: (reader: ReturnType<typeof deadline>["reader"]) => reader.range("k", RANGE),
};
const deadline = () => {
  const { reader } = memoryReader(new Map([["k", () => never]]), 60_000);
  return callDeadline(reader, Date.now() + 1000, Date.now);
};

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => vi.useRealTimers());

test.each(Object.entries(READS))("a call that reads (%s) ends when it should have", async (_, read) => {
  const { reader, before } = deadline();
  const outcome = before<unknown>(read(reader)).catch((error: unknown) => [error, Date.now()]);
  await vi.advanceTimersByTimeAsync(1500);
  expect(await outcome).toEqual([expect.any(DeadlineError), 1000]);
});

test("the end is that of the call, not of the read that began late", async () => {
  const { reader, before } = deadline();
  await vi.advanceTimersByTimeAsync(900);
  const outcome = before(reader.range("k", RANGE)).catch(() => Date.now());
  await vi.advanceTimersByTimeAsync(1500);
  expect(await outcome).toBe(1000);
});

test("a call that reads nothing has no timer, and one that is over leaves none", async () => {
  const idle = deadline();
  expect(await idle.before(Promise.resolve(7))).toBe(7);
  expect(vi.getTimerCount()).toBe(0);
  const reading = callDeadline(memoryReader(new Map([["k", Uint8Array.of(1)]]), 60_000).reader, 1000, Date.now);
  const reads = Promise.all([reading.reader.range("k", RANGE), reading.reader.range("k", RANGE)]);
  expect(await reading.before(reads)).toEqual([Uint8Array.of(1), Uint8Array.of(1)]);
  expect(vi.getTimerCount()).toBe(0);
});
