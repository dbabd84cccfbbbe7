import fc from "fast-check";
import { expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import { decodeItemHours, encodeItemHours, SLOTS, slotsOf } from "../../shared/item-hours.ts";

const RIGHT = { itemCount: 3, items: Uint32Array.of(0, 2), shifts: new Int8Array(2 * SLOTS).fill(-5) };

test("what is written is read", () =>
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(19)),
      fc.infiniteStream(fc.integer({ min: -127, max: 127 })),
      (chosen, values) => {
        const items = Uint32Array.from(chosen).sort();
        const table = {
          itemCount: 20,
          items,
          shifts: Int8Array.from({ length: items.length * SLOTS }, () => values.next().value),
        };
        expect(decodeItemHours(encodeItemHours(table))).toEqual(table);
      },
    ),
  ));

test("a file that contradicts itself is refused", () => {
  expect(() => decodeItemHours(encodeItemHours(RIGHT))).not.toThrow();
  for (const change of [
    { items: Uint32Array.of(2, 0) },
    { items: Uint32Array.of(1, 1) },
    { items: Uint32Array.of(0, 3) },
    { shifts: new Int8Array(SLOTS) },
  ])
    expect(() => decodeItemHours(encodeItemHours({ ...RIGHT, ...change }))).toThrow(FormatError);
});

test("a moment is between two slots of its day, of which the last one is followed by the first one", () => {
  const at = (time: string) => slotsOf(Date.parse(`2024-02-29T${time}Z`) / 1000);
  expect(at("00:00:00")).toEqual({ from: 0, to: 1, part: 0 });
  expect(at("04:30:00")).toEqual({ from: 1, to: 2, part: 0.5 });
  expect(at("23:15:00")).toEqual({ from: 7, to: 0, part: 0.75 });
  expect(slotsOf(-2700)).toEqual({ from: 7, to: 0, part: 0.75 }); // before 1970
});
