import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type ChoiceCounts,
  decodeRecentChoices,
  EARLIER_HOURS,
  encodeRecentChoices,
  partsOfBins,
  RECENT_HOURS,
} from "../../shared/recent-choices.ts";

const ITEM_COUNT = 30;
const table = fc
  .record({
    until: fc.nat(2e9),
    steps: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 8 }),
    items: fc.uniqueArray(fc.nat(ITEM_COUNT - 1)).map((items) => Uint32Array.from(items).sort()),
    largest: fc.constantFrom(255, 65_535, 2 ** 32 - 1),
    othersMax: fc.nat(9),
  })
  .chain(({ until, steps, items, largest, othersMax }) => {
    const edgesHours = [0];
    for (const step of steps) edgesHours.push(edgesHours.at(-1)! + step);
    const Counts = largest === 255 ? Uint8Array : largest === 65_535 ? Uint16Array : Uint32Array;
    const length = items.length * steps.length;
    return fc.record({
      totals: fc.array(fc.nat(1e6), { minLength: steps.length, maxLength: steps.length }),
      counts: fc.array(fc.nat(largest), { minLength: length, maxLength: length }).map((all) => Counts.from(all)),
      until: fc.constant(until),
      edgesHours: fc.constant(edgesHours),
      othersMax: fc.constant(othersMax),
      itemCount: fc.constant(ITEM_COUNT),
      items: fc.constant(items),
    });
  });

test("a table is read as it was written", () =>
  fc.assert(
    fc.property(table, (counts) => void expect(decodeRecentChoices(encodeRecentChoices(counts))).toEqual(counts)),
  ));

test("a table that contradicts itself is refused", () => {
  const right: ChoiceCounts = {
    ...{ until: 9, edgesHours: [0, 48, 720], totals: [3, 4], othersMax: 0, itemCount: 2 },
    items: Uint32Array.of(0, 1),
    counts: Uint8Array.of(1, 2, 3, 4),
  };
  const refused = (change: Partial<ChoiceCounts>) =>
    expect(() => decodeRecentChoices(encodeRecentChoices({ ...right, ...change }))).toThrow("recent-choices");
  expect(decodeRecentChoices(encodeRecentChoices(right))).toEqual(right);
  refused({ items: Uint32Array.of(1, 0) });
  refused({ items: Uint32Array.of(0, 2) });
  refused({ items: Uint32Array.of(0, 0) });
  refused({ edgesHours: [0, 720, 48] });
  refused({ edgesHours: [1, 48, 720] });
  refused({ totals: [7] });
  refused({ counts: Uint8Array.of(1, 2, 3) });
});

test("parts of bins are those of the overlaps of two spans of time, hour by hour", () =>
  fc.assert(
    fc.property(table, fc.nat(900), (counts, passed) => {
      const parts = partsOfBins(counts, counts.until + 3600 * passed);
      const share = (bin: number, isIn: (age: number) => boolean) => {
        const hours = Array.from(
          { length: counts.edgesHours[bin + 1]! - counts.edgesHours[bin]! },
          (_, hour) => counts.edgesHours[bin]! + hour + passed,
        );
        return hours.filter(isIn).length / hours.length;
      };
      for (const [bin, { recent, earlier }] of parts.entries()) {
        expect(recent).toBeCloseTo(
          share(bin, (age) => age < RECENT_HOURS),
          9,
        );
        const isEarlier = (age: number) => age >= RECENT_HOURS && age < RECENT_HOURS + EARLIER_HOURS;
        expect(earlier).toBeCloseTo(share(bin, isEarlier), 9);
      }
    }),
  ));
