import { expect, test } from "vitest";
import { watchOwnStalls } from "./own-stalls.ts";

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test("a process that holds itself up is told so, for the time in which it was", async () => {
  const stalls = watchOwnStalls();
  await pause(30);
  const fromMs = performance.now();
  while (performance.now() < fromMs + 120); // nothing else can run
  const toMs = performance.now();
  await pause(30);
  expect(stalls.longestMs({ fromMs, toMs })).toBeGreaterThanOrEqual(100);
  expect(stalls.longestMs({ fromMs: fromMs - 1000, toMs: fromMs - 900 })).toBe(0);
  stalls.stop();
});
