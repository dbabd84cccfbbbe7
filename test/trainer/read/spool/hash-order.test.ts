import fc from "fast-check";
import { expect, test } from "vitest";
import { hashOrder } from "../../../../trainer/read/spool/hash-order.ts";

const word = fc.oneof(fc.constantFrom(0, 1, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1), fc.nat(2 ** 32 - 1));
const hashes = fc.uniqueArray(fc.tuple(word, word), { selector: ([high, low]) => `${high} ${low}`, size: "large" });
const order = (all: readonly (readonly [number, number])[]) => [
  ...hashOrder(
    Uint32Array.from(all, ([high]) => high),
    Uint32Array.from(all, ([, low]) => low),
  ),
];

test("positions are ordered by high word, then by low word", () =>
  fc.assert(
    fc.property(hashes, (all) => {
      const sorted = all.map((_, i) => i).sort((a, b) => all[a]![0] - all[b]![0] || all[a]![1] - all[b]![1]);
      expect(order(all)).toEqual(sorted);
    }),
    { numRuns: 300 },
  ));

test("many hashes with the same high word", () =>
  expect(
    order([
      [5, 3],
      [5, 1],
      [4, 9],
      [5, 2],
      [5, 0],
    ]),
  ).toEqual([2, 4, 1, 3, 0]));

test("two equal hashes end the run with a retryable error", () =>
  expect(() =>
    order([
      [5, 3],
      [1, 1],
      [5, 3],
    ]),
  ).toThrow(expect.objectContaining({ code: "user_hash_collision", retryable: true })));
