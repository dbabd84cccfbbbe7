import { expect, test } from "vitest";
import { createStalls } from "../../../edge/admission/stalls.ts";

const CALL_MS = 2;

test("a gap while calls wait is a stall; one that is short, not awaited, or of an isolate nobody asks is none", () => {
  const stalls = createStalls(1000);
  expect(stalls.pass(0, true, CALL_MS)).toBe(0);
  expect(stalls.pass(11, true, CALL_MS)).toBe(0);
  expect(stalls.pass(200, false, CALL_MS)).toBe(0);
  expect(stalls.pass(3000, true, CALL_MS)).toBe(0);
  expect([stalls.total(), stalls.patienceMs(3000)]).toEqual([0, 0]);
  expect(stalls.pass(3025, true, CALL_MS)).toBe(25);
  expect(stalls.pass(3125, true, CALL_MS)).toBe(100);
  expect(stalls.total()).toBe(125);
  expect(stalls.pass(3225, true, 60)).toBe(0); // a call of a large catalog
  expect(stalls.total()).toBe(125);
});

test("patience is what the stalls took, half of it a second and a half later, and bounded", () => {
  const stalls = createStalls(150);
  stalls.pass(0, true, CALL_MS);
  stalls.pass(100, true, CALL_MS);
  expect([stalls.patienceMs(100), stalls.patienceMs(1600), stalls.patienceMs(4600)]).toEqual([100, 50, 12.5]);
  stalls.pass(300, true, CALL_MS);
  expect(stalls.patienceMs(300)).toBe(150);
  expect(stalls.patienceMs(200)).toBe(150); // clocks may step back
  stalls.announce(3300, 20);
  expect([stalls.patienceMs(3300), stalls.total()]).toEqual([57.5, 300]);
});

test("a thread that idles has no queue left, unless a stall was announced a moment ago", () => {
  const stalls = createStalls(1000);
  stalls.pass(1000, false, CALL_MS);
  stalls.pass(1100, true, CALL_MS);
  stalls.pass(1102, true, CALL_MS);
  expect(stalls.patienceMs(1102)).toBeGreaterThan(99);
  stalls.pass(1110, false, CALL_MS);
  expect(stalls.patienceMs(1110)).toBeCloseTo(60, 0);
  stalls.pass(1200, false, CALL_MS);
  expect(stalls.patienceMs(1200)).toBe(0);

  stalls.announce(1200, 200);
  stalls.pass(1900, false, CALL_MS);
  expect(stalls.patienceMs(1900)).toBeGreaterThan(140);
  stalls.pass(2300, false, CALL_MS);
  expect(stalls.patienceMs(2300)).toBe(0);
});
