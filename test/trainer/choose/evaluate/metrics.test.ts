import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import {
  coverage,
  gini,
  hitRate,
  METRICS,
  mrr,
  ndcg,
  popularityPercentiles,
  recall,
} from "../../../../trainer/choose/evaluate/metrics.ts";

const list = (...items: number[]) => items as ItemIndex[];
const set = (...items: number[]) => new Set(items as ItemIndex[]);

describe("by hand, list 5 3 1 with 3 and 9 relevant", () => {
  test("recall@2 is 1 of 2", () => expect(recall(list(5, 3, 1), set(3, 9), 2)).toBe(0.5));
  test("recall@1 is 0 of 2", () => expect(recall(list(5, 3, 1), set(3, 9), 1)).toBe(0));
  test("hit rate@2 is 1", () => expect(hitRate(list(5, 3, 1), set(3, 9), 2)).toBe(1));
  test("mrr@2 is 1/2", () => expect(mrr(list(5, 3, 1), set(3, 9), 2)).toBe(0.5));
  test("mrr@1 is 0", () => expect(mrr(list(5, 3, 1), set(3, 9), 1)).toBe(0));
  test("ndcg@2 is 1/log2(3) over 1 + 1/log2(3)", () =>
    expect(ndcg(list(5, 3, 1), set(3, 9), 2)).toBeCloseTo(0.38685280723454163, 12));
});

test("hits at ranks 1 and 3 of 4 relevant: ndcg@3 is (1 + 0.5) / (1 + 0.6309… + 0.5)", () =>
  expect(ndcg(list(1, 8, 2), set(1, 2, 3, 4), 3)).toBeCloseTo(1.5 / (1 + 1 / Math.log2(3) + 0.5), 12));
test("recall divides by every relevant item, not by k", () => expect(recall(list(1), set(1, 2, 3, 4), 1)).toBe(0.25));
test("a list shorter than k is measured as it is", () => expect(ndcg(list(1), set(1), 10)).toBe(1));
test("an empty list finds nothing", () => {
  for (const metric of Object.values(METRICS)) expect(metric([], set(1), 10)).toBe(0);
});
test("nothing relevant is undefined, not 0", () => {
  for (const metric of Object.values(METRICS)) expect(metric(list(1), set(), 10)).toBeNaN();
});

/** The definitions written out once more, term by term and without sharing a line with the code under test. */
function longhand(ranked: number[], relevant: number[], k: number) {
  const found = ranked.map((item) => (relevant.indexOf(item) === -1 ? 0 : 1)).filter((_, i) => i + 1 <= k);
  const hits = found.filter((hit) => hit === 1).length;
  const dcg = found.map((hit, i) => hit * (Math.LN2 / Math.log(i + 2))).reduce((a, b) => a + b, 0);
  const ideal = relevant.map((_, i) => (i + 1 <= k ? Math.LN2 / Math.log(i + 2) : 0)).reduce((a, b) => a + b, 0);
  const first = found.indexOf(1);
  return {
    recall: hits / relevant.length,
    ndcg: dcg / ideal,
    mrr: first === -1 ? 0 : (first + 1) ** -1,
    hr: hits === 0 ? 0 : 1,
  };
}

test("agrees with the longhand definitions to 1e-9", () => {
  const distinct = (max: number) => fc.uniqueArray(fc.nat(40), { maxLength: max });
  fc.assert(
    fc.property(distinct(30), distinct(15), fc.integer({ min: 1, max: 25 }), (ranked, relevant, k) => {
      fc.pre(relevant.length > 0);
      const expected = longhand(ranked, relevant, k);
      for (const [name, metric] of Object.entries(METRICS)) {
        const found = metric(list(...ranked), set(...relevant), k);
        expect(Math.abs(found - expected[name as keyof typeof expected])).toBeLessThan(1e-9);
      }
    }),
    { numRuns: 2000 },
  );
});

describe("coverage", () => {
  test("3 of 4 items shown is 0.75, however often", () => expect(coverage([9, 0, 1, 1])).toBe(0.75));
  test("no items is 0", () => expect(coverage([])).toBe(0));
});

describe("gini", () => {
  test("equal exposure is 0", () => expect(gini([3, 3, 3])).toBeCloseTo(0, 12));
  test("one of four items takes all: 3/4", () => expect(gini([0, 8, 0, 0])).toBeCloseTo(0.75, 12));
  test("1 and 3: (−1·1 + 1·3) / (2·4) = 0.25", () => expect(gini([3, 1])).toBeCloseTo(0.25, 12));
  test("nothing shown is 0", () => expect(gini([0, 0])).toBe(0));
  test("equals half the mean absolute difference over the mean", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { minLength: 1, maxLength: 30 }), (shown) => {
        fc.pre(shown.some((count) => count > 0));
        let differences = 0;
        for (const a of shown) for (const b of shown) differences += Math.abs(a - b);
        const average = shown.reduce((a, b) => a + b, 0) / shown.length;
        expect(gini(shown)).toBeCloseTo(differences / shown.length ** 2 / (2 * average), 9);
      }),
    );
  });
});

describe("popularity percentile", () => {
  test("rises with the count, ties have the middle value", () =>
    expect([...popularityPercentiles([10, 1, 1, 5])]).toEqual([0.875, 0.25, 0.25, 0.625]));
  test("averages one half over the catalog", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 40 }), (counts) => {
        const all = popularityPercentiles(counts);
        expect(all.reduce((a, b) => a + b, 0) / all.length).toBeCloseTo(0.5, 9);
      }),
    );
  });
});
