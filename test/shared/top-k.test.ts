import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ItemIndex } from "../../shared/ids.ts";
import { firstCandidates, topK } from "../../shared/top-k.ts";

/** The reference: filter the candidates, sort all of them, cut. */
function sortAndCut(scores: Float32Array, limit: number, isCandidate: (item: ItemIndex) => boolean): number[] {
  const items = Array.from(scores.keys()).filter((item) => scores[item]! > -Infinity && isCandidate(item as ItemIndex));
  return items.sort((a, b) => scores[b]! - scores[a]! || a - b).slice(0, limit);
}

const score = fc.oneof(
  fc.constantFrom(-Infinity, Number.NaN, 0, -0, 1, 1, 2, Infinity),
  fc.float({ noNaN: true, noDefaultInfinity: true }),
);
const scores = fc.array(score, { maxLength: 60, size: "max" }).map((values) => Float32Array.from(values));

test("the result equals sorting and cutting, with equal scores in catalog order", () =>
  fc.assert(
    fc.property(scores, fc.nat(70), fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (all, limit, mask) => {
      const isCandidate = (item: ItemIndex) => mask[item]!;
      expect(topK(all, limit, isCandidate)).toEqual(sortAndCut(all, limit, isCandidate));
    }),
    { numRuns: 2000 },
  ));

test("the result without scores equals that of equal scores", () =>
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 60 }), fc.nat(70), (mask, limit) => {
      const isCandidate = (item: ItemIndex) => mask[item]!;
      const expected = topK(new Float32Array(mask.length), limit, isCandidate);
      expect(firstCandidates(mask.length, limit, isCandidate)).toEqual(expected);
    }),
  ));

test("the scores are not changed", () => {
  const all = Float32Array.of(3, 1, 2);
  topK(all, 2);
  expect([...all]).toEqual([3, 1, 2]);
});

describe("isCandidate is called lazily", () => {
  /** The number of calls of `isCandidate`. Checks that it is called at most once for an item. */
  function calls(all: Float32Array, limit: number, isCandidate: (item: ItemIndex) => boolean = () => true): number {
    const asked = new Set<number>();
    topK(all, limit, (item) => {
      expect(asked.has(item)).toBe(false);
      asked.add(item);
      return isCandidate(item);
    });
    return asked.size;
  }
  const falling = Float32Array.from({ length: 1000 }, (_, i) => 1000 - i);

  test("falling scores: only the first ones", () => expect(calls(falling, 10)).toBe(10));
  test("equal scores: only the first ones", () => expect(calls(new Float32Array(1000), 10)).toBe(10));
  test("rising scores, the worst case: every one", () => expect(calls(falling.toReversed(), 10)).toBe(1000));
  test("a limit of 0: no call", () => expect(calls(falling, 0)).toBe(0));
  test("no candidates: every item with a score", () => expect(calls(falling, 10, () => false)).toBe(1000));
  test("an item without a score: no call", () => expect(calls(new Float32Array(9).fill(-Infinity), 3)).toBe(0));
  test("random order: about limit·(1 + ln(items/limit))", () => {
    const random = Float32Array.from({ length: 100_000 }, (_, i) => Math.imul(i + 1, 0x9e3779b1) >>> 0);
    const expected = 15 * (1 + Math.log(100_000 / 15));
    expect(calls(random, 15)).toBeLessThan(1.5 * expected);
  });
});

test.each([
  [0, []],
  [1, [1]],
  [2, [1, 2]],
  [3, [1, 2, 0]],
  [4, [1, 2, 0]],
])("of scores 1, 3, 3 the best %i are %j", (limit, expected) =>
  expect(topK(Float32Array.of(1, 3, 3), limit)).toEqual(expected),
);
