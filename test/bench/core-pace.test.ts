import { expect, test } from "vitest";
import { type Piece, slowestPace, stolenMs } from "./core-pace.ts";

/** Generates samples at ten per second. */
const pieces: Piece[] = Array.from({ length: 100 }, (_, i) => ({
  atMs: 100 * i,
  cpuMs: i >= 50 && i < 60 ? 3 : 1,
  stolenMs: 20 * i,
}));

test("a second in which the same work takes three times as long has a third of the pace", () => {
  expect(slowestPace(pieces, { fromMs: 4000, toMs: 7000 })).toBeCloseTo(1 / 3);
  expect(slowestPace(pieces, { fromMs: 6500, toMs: 9000 })).toBe(1);
});
test("one slow piece of a second is none", () => {
  const once = pieces.map((piece, i) => ({ ...piece, cpuMs: i === 5 ? 9 : 1 }));
  expect(slowestPace(once, { fromMs: 0, toMs: 9999 })).toBe(1);
});
test("what the host took of a core is the difference of what it had taken", () => {
  expect(stolenMs(pieces, { fromMs: 1000, toMs: 2000 })).toBe(200);
  expect(stolenMs(pieces, { fromMs: 50_000, toMs: 60_000 })).toBe(0);
});
test("where nothing was measured there is no pace", () => {
  expect(slowestPace([], { fromMs: 0, toMs: 1 })).toBeUndefined();
  expect(slowestPace(pieces, { fromMs: 50_000, toMs: 60_000 })).toBeUndefined();
});
