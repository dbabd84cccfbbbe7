import { expect, test, vi } from "vitest";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { repeat } from "../../../../trainer/manage/models/repeat.ts";

const logs: LogEntry[] = [];
const options = { pauseMs: 3_600_000, failureEvent: "turn_failed", log: (entry: LogEntry) => void logs.push(entry) };
const tick = () => new Promise((done) => setImmediate(done));

test("a loop takes a turn at once, one after each pause, and one when it is woken", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let turns = 0;
  const loop = repeat(async () => void turns++, options);
  await tick();
  expect(turns).toBe(1);
  await vi.advanceTimersByTimeAsync(options.pauseMs);
  expect(turns).toBe(2);
  loop.wake();
  await tick();
  expect(turns).toBe(3);
  await loop.stop();
  vi.useRealTimers();
});

test("wakes during a turn lead to one further turn after it", async () => {
  let [turns, atOnce, atOnceMax] = [0, 0, 0];
  const loop = repeat(async () => {
    turns++;
    atOnceMax = Math.max(atOnceMax, ++atOnce);
    await tick();
    atOnce--;
  }, options);
  for (let i = 0; i < 5; i++) loop.wake();
  await expect.poll(() => turns).toBe(2);
  await loop.stop();
  expect([turns, atOnceMax]).toEqual([2, 1]);
});

test("a turn that fails is logged, and the next one comes", async () => {
  let turns = 0;
  const loop = repeat(async () => {
    if (++turns === 1) throw new Error("no database");
  }, options);
  await tick();
  expect(logs).toEqual([expect.objectContaining({ event: "turn_failed", level: "error" })]);
  loop.wake();
  await expect.poll(() => turns).toBe(2);
  await loop.stop();
});

test("a loop that was stopped has ended its turn and takes no other", async () => {
  let isOver = false;
  let turns = 0;
  const loop = repeat(async () => {
    turns++;
    await tick();
    isOver = true;
  }, options);
  loop.wake();
  await loop.stop();
  expect(isOver).toBe(true);
  loop.wake();
  await tick();
  expect(turns).toBe(1);
});
