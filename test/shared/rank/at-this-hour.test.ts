import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { SHIFT_SCALE, SLOTS } from "../../../shared/item-hours.ts";
import { moveToThisHour } from "../../../shared/rank/at-this-hour.ts";
import { topK } from "../../../shared/top-k.ts";

const at = (time: string) => Date.parse(`2024-02-29T${time}:00Z`) / 1000;

/** Items score 0, −1, −2 and so on. Shifts are logarithms of ratios, by slot. */
function scoresAt(nowSeconds: number, shifts: Readonly<Record<number, readonly number[]>>, itemCount = 400) {
  const scores = Float32Array.from({ length: itemCount }, (_, item) => -item);
  const items = Object.keys(shifts).map(Number);
  const hours = {
    ...{ itemCount, items: Uint32Array.from(items) },
    shifts: Int8Array.from(
      items.flatMap((item) => shifts[item]!),
      (shift) => Math.round(SHIFT_SCALE * shift),
    ),
  };
  moveToThisHour(scores, hours, { nowSeconds, isNew: () => true });
  return scores;
}
const listAt = (...given: Parameters<typeof scoresAt>) => topK(scoresAt(...given), 400) as number[];

const MORNING = [0, 0, 0, 2, 0, -2, -2, 0]; // around 9 o'clock, and not from 15 to 18

test("an item is earlier at its time of the day, later at others, and between times between both", () => {
  const shifts = { 20: MORNING };
  const placeAt = (time: string) => listAt(at(time), shifts).indexOf(20);
  expect(placeAt("00:00")).toBe(20);
  expect(placeAt("09:00")).toBe(0); // (21 + 5) / e² is 3.5, which is before the first place's 6
  expect(placeAt("15:00")).toBe(186); // behind 186 of the places up to (21 + 5) · e² − 5 = 187.1
  expect(placeAt("07:30")).toBe(4); // 26 / e − 5 = 4.6
  expect(placeAt("07:44")).toBe(placeAt("07:30")); // in steps of a quarter of an hour
  expect(placeAt("07:45")).toBeLessThan(placeAt("07:30"));
});

test("items far behind move by deviations, from there to the front and back", () => {
  expect(scoresAt(at("15:00"), { 300: MORNING })[300]).toBeCloseTo(-300 - 2 * 115.47, 1);
  expect(listAt(at("09:00"), { 300: MORNING }).indexOf(300)).toBeLessThan(100);
  expect(scoresAt(at("15:00"), { 100: MORNING })[100]).toBeLessThan(-256);
});

test("other items keep their scores, all stay finite, and what is more of this time comes earlier", () =>
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -127, max: 127 }), { minLength: 30 * SLOTS, maxLength: 30 * SLOTS }),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fc.integer({ min: 10, max: 600 }),
      (shifts, nowSeconds, itemCount) => {
        const before = Float32Array.from({ length: itemCount }, (_, item) => (item % 50) - item / 1000);
        const items = Uint32Array.from({ length: Math.min(30, itemCount / 2) }, (_, i) => 2 * i);
        const hours = { itemCount, items, shifts: Int8Array.from(shifts).subarray(0, items.length * SLOTS) };
        const move = (given: typeof hours) => {
          const scores = before.slice();
          moveToThisHour(scores, given, { nowSeconds, isNew: (item: ItemIndex) => item % 3 > 0 });
          return scores;
        };
        const scores = move(hours);
        expect(scores.every(Number.isFinite)).toBe(true);
        for (let item = 1; item < itemCount; item += 2) expect(scores[item]).toBe(before[item]);
        const more = hours.shifts.slice();
        for (let slot = 0; slot < SLOTS; slot++) more[slot] = Math.min(127, more[slot]! + 20);
        expect(move({ ...hours, shifts: more })[0]).toBeGreaterThanOrEqual(scores[0]!);
      },
    ),
  ));
