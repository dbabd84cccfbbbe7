import fc from "fast-check";
import { expect, test } from "vitest";
import {
  armWithBucket,
  BUCKETS,
  type BucketRange,
  bucketOf,
  divide,
  fnv1a,
} from "../../../shared/experiment/buckets.ts";
import { hasRatioMismatch } from "../../../shared/experiment/verdict.ts";

/** The published test vectors of FNV-1a. */
test.each([
  ["", 0x811c9dc5],
  ["a", 0xe40c292c],
  ["foobar", 0xbf9cf968],
])("FNV-1a of %j", (text, hash) => expect(fnv1a(text)).toBe(hash));

/** Changing these would give users another arm in the middle of an experiment. */
test.each([
  ["s", "u1", 9_367],
  ["s", "u2", 3_746],
  ["other", "u1", 6_307],
  ["s", "ünïcode", 9_047],
])("the bucket of %j and %j is %i", (salt, user, bucket) => expect(bucketOf(salt, user)).toBe(bucket));

const sizeOf = (ranges: readonly BucketRange[]) => ranges.reduce((sum, [from, to]) => sum + to - from, 0);

test("a million users are divided as the shares say, and two experiments are independent", { timeout: 120_000 }, () => {
  const arms = divide([0.5, 0.3, 0.2], []).map((buckets) => ({ buckets }));
  const armByBucket = Array.from({ length: BUCKETS }, (_, bucket) => armWithBucket(arms, bucket));
  const counts = [0, 0, 0];
  const both = [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ];
  for (let i = 0; i < 1e6; i++) {
    const [a, b] = [armByBucket[bucketOf("one", `user-${i}`)]!, armByBucket[bucketOf("two", `user-${i}`)]!];
    counts[a]!++;
    both[a]![b]!++;
  }
  expect(hasRatioMismatch(counts, [5e5, 3e5, 2e5])).toBe(false);
  for (const [a, row] of both.entries())
    expect(
      hasRatioMismatch(
        row,
        [0.5, 0.3, 0.2].map((share) => share * counts[a]!),
      ),
    ).toBe(false);
});

const Shares = fc
  .array(fc.integer({ min: 1, max: 1000 }), { minLength: 2, maxLength: 5 })
  .map((parts) => parts.map((part) => part / parts.reduce((sum, one) => sum + one, 0)));

test("every bucket has one arm, and the arms have their shares", () =>
  fc.assert(
    fc.property(Shares, (shares) => {
      const arms = divide(shares, []);
      expect(
        arms
          .flat()
          .sort(([a], [b]) => a - b)
          .reduce((at, [from, to]) => (from === at ? to : Number.NaN), 0),
      ).toBe(BUCKETS);
      for (const [i, ranges] of arms.entries())
        expect(Math.abs(sizeOf(ranges) - shares[i]! * BUCKETS)).toBeLessThanOrEqual(1);
    }),
  ));
test("changed shares move no more buckets than they must", () =>
  fc.assert(
    fc.property(Shares, Shares, (before, after) => {
      const former = divide(before, []);
      const next = divide(after, former.slice(0, after.length));
      const kept = next.map((ranges, i) => {
        const own = new Set((former[i] ?? []).flatMap(([from, to]) => range(from, to)));
        return ranges.flatMap(([from, to]) => range(from, to)).filter((bucket) => own.has(bucket)).length;
      });
      for (const [i, count] of kept.entries()) expect(count).toBe(Math.min(sizeOf(former[i] ?? []), sizeOf(next[i]!)));
    }),
  ));
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
