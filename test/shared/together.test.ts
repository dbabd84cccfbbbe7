import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../shared/ids.ts";
import { decodeTogether, encodeTogether, type TogetherRows } from "../../shared/together.ts";

const ITEMS = 9;
const rows = fc.array(
  fc.uniqueArray(fc.tuple(fc.nat(ITEMS - 1), fc.double({ min: 0.001, max: 5, noNaN: true })), {
    selector: ([other]) => other,
    maxLength: 4,
  }),
  { maxLength: ITEMS },
);

function flat(rows: readonly (readonly (readonly [number, number])[])[]): TogetherRows {
  const start = [0];
  for (const row of rows) start.push(start.at(-1)! + row.length);
  return {
    itemCount: ITEMS,
    start: Uint32Array.from(start),
    others: Uint32Array.from(rows.flat(), ([other]) => other),
    strengths: Float32Array.from(rows.flat(), ([, strength]) => strength),
  };
}

test("rows are read as they were written, with strengths as exact as bytes can tell, and none of them is lost", () =>
  fc.assert(
    fc.property(rows, (rows) => {
      const { forEachOther, itemCount } = decodeTogether(encodeTogether(flat(rows)));
      expect(itemCount).toBe(ITEMS);
      const largest = Math.max(0, ...rows.flat().map(([, strength]) => strength));
      for (let item = 0; item < ITEMS; item++) {
        const found: [number, number][] = [];
        forEachOther(item as ItemIndex, (other, strength) => found.push([other, strength]));
        const row = rows[item] ?? [];
        expect(found.map(([other]) => other)).toEqual(row.map(([other]) => other));
        for (const [i, [, strength]] of found.entries()) {
          expect(strength).toBeGreaterThan(0);
          expect(Math.abs(Math.sqrt(strength) - Math.sqrt(row[i]![1]))).toBeLessThanOrEqual(
            Math.sqrt(largest) / 255 + 1e-6,
          );
        }
      }
    }),
  ));

test("a file that contradicts itself is refused", () => {
  const right = flat([[[1, 1]], [[0, 2]]]);
  expect(() => decodeTogether(encodeTogether(right))).not.toThrow();
  for (const change of [
    { start: Uint32Array.of(0, 2, 1) },
    { start: Uint32Array.of(1, 2, 2) },
    { start: Uint32Array.of(0, 1) },
    { others: Uint32Array.of(1, ITEMS) },
    { itemCount: 1 },
  ])
    expect(() => decodeTogether(encodeTogether({ ...right, ...change }))).toThrow("together");
});
