import { expect, test } from "vitest";
import { type BeginPace, createBeginPace } from "../../../edge/admission/begin-pace.ts";

/** A thread on which each call of 2 ms, as estimated, takes `tookMs`, and one always waits; gives how far apart they begin at the end. */
function saturated(
  pace: BeginPace,
  { tookMs, calls = 200, stallMs = 0 }: { tookMs: number; calls?: number; stallMs?: number },
) {
  let [dueMs, freeMs, stalledMs] = [1000, 1000, 0];
  for (let call = 0; call < calls; call++) {
    if (call % 4 === 0) {
      freeMs += stallMs;
      stalledMs += stallMs;
    }
    const nowMs = Math.floor(Math.max(dueMs, freeMs));
    pace.begun({ callMs: 2, dueMs, nowMs, stalledMs });
    freeMs = Math.max(dueMs, freeMs) + tookMs;
    dueMs += pace.afterMs(2, nowMs);
  }
  return pace.afterMs(2, dueMs);
}

test("before anything is known, half of what calls take by estimate", () => {
  expect(createBeginPace().afterMs(8, 1000)).toBe(4);
});
test.each([1.5, 2, 3])("calls that take %d ms of 2 begin a little more than that apart", (tookMs) => {
  const apartMs = saturated(createBeginPace(), { tookMs });
  expect(apartMs).toBeGreaterThan(tookMs);
  expect(apartMs).toBeLessThan(1.25 * tookMs);
});
test("quicker ones never less than half their estimate apart, so that new ones are always let in between", () => {
  expect(saturated(createBeginPace(), { tookMs: 0.1 })).toBe(1);
});
test("however long they take, at most some twice their estimate apart", () => {
  expect(saturated(createBeginPace(), { tookMs: 100 })).toBeLessThan(5);
});
test("a stall is not what calls take", () => {
  const usual = saturated(createBeginPace(), { tookMs: 2 });
  const stalled = saturated(createBeginPace(), { tookMs: 2, stallMs: 100 });
  expect(stalled).toBeGreaterThan(0.9 * usual);
  expect(stalled).toBeLessThan(1.1 * usual);
});
test("nor is the time in which the thread idled, however late its calls begin", () => {
  const pace = createBeginPace();
  for (let dueMs = 1000; dueMs < 3000; dueMs += 20) pace.begun({ callMs: 2, dueMs, nowMs: dueMs + 5, stalledMs: 0 });
  expect(pace.afterMs(2, 3000)).toBe(1);
});
test("what was learnt is known until half of it is forgotten, after two seconds", () => {
  const pace = createBeginPace();
  const learnt = saturated(pace, { tookMs: 3, calls: 1000 });
  pace.begun({ callMs: 2, dueMs: 4000, nowMs: 4000, stalledMs: 0 });
  const known = pace.afterMs(2, 4000);
  expect(known).toBeGreaterThan(0.9 * learnt);
  expect(pace.afterMs(2, 6000)).toBeCloseTo(known / 2, 5);
});
test.each([5, 20_000])(
  "what was learnt is forgotten while calls begin in time, or none comes: every %d ms",
  (everyMs) => {
    const pace = createBeginPace();
    saturated(pace, { tookMs: 3 });
    for (let nowMs = 10_000; nowMs < 20_000; nowMs += everyMs)
      pace.begun({ callMs: 2, dueMs: nowMs, nowMs, stalledMs: 0 });
    expect(pace.afterMs(2, 20_000)).toBe(1);
  },
);
