import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Admission, type AdmittedCall, createAdmission } from "../../../edge/admission/admission.ts";

/** Items of a catalog whose calls are estimated to take 5 ms. */
const FIVE_MS = (5 - 1.7) / 21.5e-6;
const QUEUE_MS_MAX = 100;

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const admit = (admission: Admission, itemCount: number, customer = "acme") =>
  admission.admit({ customer, itemCount, nowMs: Date.now });
/** Admits calls until one is refused. */
function fill(admission: Admission, itemCount: number, customer?: string): AdmittedCall[] {
  const calls: AdmittedCall[] = [];
  for (let call = admit(admission, itemCount, customer); call; call = admit(admission, itemCount, customer))
    calls.push(call);
  return calls;
}

test.each([
  ["a small catalog", 1000, 130],
  ["a catalog of which a call takes 5 ms", FIVE_MS, 45],
  ["a million items", 1_000_000, 9],
  ["a call that is longer than the whole bound", 100_000_000, 1],
])("the larger the catalog, the fewer calls wait: %s", (_, itemCount, count) => {
  expect(fill(createAdmission(QUEUE_MS_MAX), itemCount)).toHaveLength(count);
});

test("once 20 calls were refused the bound is a third, until the queue was empty", () => {
  const admission = createAdmission(QUEUE_MS_MAX);
  const calls = fill(admission, FIVE_MS);
  calls.pop()!.end();
  calls.push(...fill(admission, FIVE_MS));
  expect(calls).toHaveLength(45); // a refusal or two do not lower the bound
  for (let refused = 2; refused < 20; refused++) expect(admission.isFull("acme", 0)).toBe(true);
  for (const call of calls.splice(15)) call.end();
  expect(admission.isFull("acme", 0)).toBe(true); // 15 calls of 5 ms are three quarters of the bound
  calls.pop()!.end();
  expect(fill(admission, FIVE_MS)).toHaveLength(1);
  vi.setSystemTime(2000); // whoever hung up in the queue
  expect(fill(admission, FIVE_MS)).toHaveLength(45);
});

test("while one customer's calls fill its part of the queue, another's are admitted", () => {
  const admission = createAdmission(QUEUE_MS_MAX);
  fill(admission, FIVE_MS);
  expect(admission.isFull("acme", 0)).toBe(true);
  expect(admission.isFull("globex", 0)).toBe(false);
  expect(fill(admission, FIVE_MS, "globex")).toHaveLength(15);
});

test("a few calls are computed in one turn of the event loop, and all of them in the end", async () => {
  const admission = createAdmission(QUEUE_MS_MAX);
  let computed = 0;
  for (const call of fill(admission, FIVE_MS))
    void call.turn().then(() => {
      computed++;
      call.end();
    });
  await vi.advanceTimersByTimeAsync(0);
  expect(computed).toBe(1); // a call with nobody ahead needs no timer
  vi.advanceTimersByTime(500); // the thread was busy, so every timer is due in the same turn
  await vi.advanceTimersByTimeAsync(0);
  expect(computed).toBeLessThanOrEqual(1 + 2 * 4);
  await vi.advanceTimersByTimeAsync(500);
  expect(computed).toBe(45);
});

test("calls that come one by one are not held up, but for one timer in several", async () => {
  const admission = createAdmission(QUEUE_MS_MAX);
  let isTurn = false;
  let waits = 0;
  for (let i = 0; i < 40; i++) {
    const call = admit(admission, FIVE_MS)!;
    const turn = call.turn().then(() => (isTurn = true));
    await Promise.resolve();
    await Promise.resolve();
    if (!isTurn) {
      waits++;
      await vi.advanceTimersByTimeAsync(1);
    }
    await turn;
    isTurn = false;
    call.end();
  }
  expect(waits).toBe(9); // four calls of 5 ms fill a turn
});

test("refusals are counted, and given about once a second", () => {
  const admission = createAdmission(QUEUE_MS_MAX);
  expect([0, 10, 999, 1000, 1500, 2500].map((nowMs) => admission.countRefusal(nowMs))).toEqual([
    1,
    undefined,
    undefined,
    3,
    undefined,
    2,
  ]);
});
