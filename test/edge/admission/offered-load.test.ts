import { expect, test } from "vitest";
import { createOfferedLoad, type OfferedLoad } from "../../../edge/admission/offered-load.ts";

const CALL_MS = 2.5;

/** One server on a queue; gives the share of the last second in which more seemed to arrive than it can answer. */
function shareBeyond(
  load: OfferedLoad,
  {
    perMs,
    callMs,
    seconds,
    stall,
    isTold = true,
  }: { perMs: number; callMs: number; seconds: number; stall?: [number, number]; isTold?: boolean },
): number {
  let [queue, owed, arrivals, beyond] = [0, 0, 0, 0];
  for (let ms = 0; ms < 1000 * seconds; ms++) {
    arrivals += perMs;
    const isStalled = stall !== undefined && ms >= stall[0] && ms < stall[1];
    if (ms === stall?.[1] && isTold) load.stalled(ms, ms - stall[0]);
    if (!isStalled) {
      for (; arrivals >= 1; arrivals--, queue = Math.min(100, queue + 1)) load.arrived(ms);
      for (owed += 1; queue > 0 && owed >= callMs; owed -= callMs) load.answered(ms, --queue);
      if (queue === 0) owed = 0;
    }
    if (ms >= 1000 * (seconds - 1) && load.isBeyondCapacity(ms)) beyond++;
  }
  return beyond / 1000;
}

test.each([
  ["at four fifths of the capacity not", 0.8, 0],
  ["at the capacity not", 1, 0],
  ["at one and a half times it is", 1.5, 1],
  ["at twice it is", 2, 1],
])("%s", (_, times, share) => {
  for (const callMs of [CALL_MS, 1, 10])
    expect(shareBeyond(createOfferedLoad(CALL_MS), { perMs: times / callMs, callMs, seconds: 20 })).toBe(share);
});
test.each([
  [0.8, 250],
  [0.8, 1000],
  [0.6, 100],
])("at %d of the capacity a stall of %i ms is no overload, if the isolate notices it", (times, stallMs) => {
  const share = (isTold: boolean) =>
    shareBeyond(createOfferedLoad(CALL_MS), {
      perMs: times / CALL_MS,
      callMs: CALL_MS,
      seconds: 20,
      stall: [19_000 - stallMs, 19_000],
      isTold,
    });
  expect(share(true)).toBe(0);
  if (stallMs > 100) expect(share(false)).toBeGreaterThan(0.05);
});
test.each([
  [2, false],
  [3, false],
  [6, true],
])("%d times the capacity is a flood: %s", (times, isFlood) => {
  const load = createOfferedLoad(CALL_MS);
  shareBeyond(load, { perMs: times / CALL_MS, callMs: CALL_MS, seconds: 5 });
  expect(load.isFlood(5000)).toBe(isFlood);
  expect(load.isFlood(6000)).toBe(false);
});
test("an overload that goes on is seen through a stall", () => {
  const settings = { perMs: 2 / CALL_MS, callMs: CALL_MS, seconds: 20, stall: [18_900, 19_000] as [number, number] };
  expect(shareBeyond(createOfferedLoad(CALL_MS), settings)).toBe(1);
});
test("an overload is seen within a sixth of a second, and over within a second", () => {
  const load = createOfferedLoad(CALL_MS);
  shareBeyond(load, { perMs: 0.8 / CALL_MS, callMs: CALL_MS, seconds: 5 });
  let seenMs: number | undefined;
  for (let ms = 5000; ms < 6000; ms++) {
    for (let call = 0; call < 2; call++) if ((ms * 0.8) % 2 < 1.6) load.arrived(ms); // 1.6 a ms
    if (load.isBeyondCapacity(ms)) seenMs ??= ms - 5000;
  }
  expect(seenMs).toBeLessThan(160);
  expect(load.isBeyondCapacity(6000)).toBe(true);
  expect(load.isBeyondCapacity(7000)).toBe(false);
});
/** A call every 5 ms until 2000; then the thread is held up for a second, and so many calls come at once. */
function afterStall(calls: number, atMs: number): boolean {
  const load = createOfferedLoad(CALL_MS);
  for (let ms = 0; ms < 2000; ms += 5) load.arrived(ms);
  load.stalled(3000, 1000);
  for (let call = 0; call < calls; call++) load.arrived(atMs);
  return load.isBeyondCapacity(atMs);
}
test("of those who come after a stall as many are owed as came in so long before, for as long; the others tell of an overload", () => {
  expect([afterStall(190, 3000), afterStall(190, 4000)]).toEqual([false, false]);
  expect([afterStall(400, 3000), afterStall(190, 4001)]).toEqual([true, true]);
});
test("stalls between answers, of which it is told, do not lower the capacity", () => {
  const load = createOfferedLoad(10);
  let nowMs = 1000;
  for (let call = 0; call < 500; call++) {
    load.answered(nowMs, 20);
    nowMs += 100;
    load.stalled(nowMs, 100);
    nowMs += CALL_MS;
  }
  nowMs += 5000;
  for (const endMs = nowMs + 2000; nowMs < endMs; nowMs += 4) load.arrived(nowMs);
  expect(load.isBeyondCapacity(nowMs)).toBe(false);
});
test("what was answered before a stall can be answered after it, though nobody had to wait", () => {
  const load = createOfferedLoad(10);
  for (let ms = 0; ms <= 2000; ms += 4) {
    load.arrived(ms);
    load.answered(ms, 0);
  }
  load.stalled(3000, 1000);
  expect(load.isBeyondCapacity(3000)).toBe(false);
});
test("an overload before a stall is one after it", () => {
  const load = createOfferedLoad(CALL_MS);
  for (let ms = 0; ms <= 2000; ms++) load.arrived(ms);
  load.stalled(3000, 1000);
  expect([load.isBeyondCapacity(3000), load.isBeyondCapacity(4000)]).toEqual([true, false]);
});
test("a capacity that has changed is learnt, since what was is forgotten", () => {
  const load = createOfferedLoad(CALL_MS);
  let nowMs = 0;
  const answer = (callMs: number, untilMs: number) => {
    for (; nowMs < untilMs; nowMs += callMs) load.answered(nowMs, 20);
  };
  const isBeyond = (everyMs: number) => {
    nowMs += 5000; // what was answered of late tells no more
    for (const endMs = nowMs + 2000; nowMs < endMs; nowMs += everyMs) load.arrived(nowMs);
    return load.isBeyondCapacity(nowMs);
  };
  answer(10, 100_000);
  expect(isBeyond(8)).toBe(true);
  answer(2.5, nowMs + 60_000);
  expect(isBeyond(3)).toBe(false);
  answer(2.5, nowMs + 10); // the thread had idled
  answer(200, nowMs + 300); // one or two slow ones are no lack of capacity
  expect(isBeyond(3)).toBe(false);
});
test("answers with few others waiting do not tell the capacity", () => {
  const load = createOfferedLoad(CALL_MS);
  for (let ms = 0; ms < 60_000; ms += 20) load.answered(ms, 3); // 50 a second, idle between
  for (let ms = 60_000; ms < 62_000; ms += 4) load.arrived(ms);
  expect(load.isBeyondCapacity(62_000)).toBe(false);
});
test("who should have come since the last call is told by the rate before it", () => {
  const load = createOfferedLoad(CALL_MS);
  load.arrived(0);
  expect(load.missed(300)).toBe(0); // of one call there is no rate
  for (let ms = 2000; ms < 4000; ms += 2) load.arrived(ms);
  expect(load.missed(3998 + 100)).toBeCloseTo(50, 0);
  expect(load.missed(3998 + 1001)).toBe(0);
});
test("a wait in which the thread idles does not tell the capacity: those who waited read, or hung up", () => {
  const load = createOfferedLoad(CALL_MS);
  load.answered(1000, 20);
  load.answered(11_000, 20);
  for (let ms = 20_000; ms < 22_000; ms += 4) load.arrived(ms);
  expect(load.isBeyondCapacity(22_000)).toBe(false);
});
