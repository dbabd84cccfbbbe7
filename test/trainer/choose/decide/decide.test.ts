import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { choiceOptimism, decide } from "../../../../trainer/choose/decide/decide.ts";
import type { Evaluated } from "../../../../trainer/choose/evaluate/evaluation-figures.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";

const METRIC = "ndcg@10";
const judged = (values: ArrayLike<number>, lists = 1): Evaluated => ({
  evaluation: {
    positions: Uint32Array.from({ length: values.length }, (_, i) => i),
    owners: Uint32Array.from({ length: values.length }, (_, i) => Math.floor(i / lists)),
    cutOffs: [10],
    listLength: 10,
    lists: new Int32Array(values.length * 10),
    values: new Map([[METRIC, Float64Array.from(values)]]),
  },
});
const noisy = (users: number, mean: number, seed: number) => {
  const random = seededRandom(seed);
  return judged(Float64Array.from({ length: users }, () => mean + (random() - 0.5)));
};
const options = { metric: METRIC, interactions: 100_000, itemCount: 40, seed: 1 } as const;

test("the best candidate above popularity is chosen", () => {
  const verdict = decide([noisy(500, 0.7, 1), noisy(500, 0.8, 2), noisy(500, 0.75, 3)], noisy(500, 0.5, 4), options);
  expect(verdict.chosen).toBe(1);
  expect(verdict.reasons[1]).toContain("the best");
  expect(verdict.reasons[0]).toContain("the chosen has 0.8");
});
test("with a floor on coverage, what reaches it comes before what is better and does not", () => {
  const popularity = judged(new Float64Array(100).fill(0.1));
  const narrow = judged(new Float64Array(100).fill(0.3)); // always shows item 0: coverage 1 ÷ 40
  const shownBy = (items: number, value: number): Evaluated => {
    const { evaluation } = judged(new Float64Array(100).fill(value));
    return { evaluation: { ...evaluation, lists: evaluation.lists.map((_, i) => i % items) } };
  };
  const candidates = [narrow, shownBy(20, 0.15), shownBy(10, 0.2)];
  const chosenFrom = (coverageMin: number) => decide(candidates, popularity, { ...options, coverageMin });
  expect([0, 0.02, 0.25, 0.5].map((floor) => chosenFrom(floor).chosen)).toEqual([0, 0, 2, 1]);
  expect(chosenFrom(0.25).reasons[2]).toContain("coverage 0.2500");
  expect(chosenFrom(0.25).warnings).toEqual([]);
  const unreachable = chosenFrom(0.9);
  expect([unreachable.chosen, unreachable.warnings.join()]).toEqual([1, expect.stringContaining("coverage 0.9")]);
});
describe("a candidate that is nearly as good and shows many more items", () => {
  const popularity = judged(new Float64Array(100).fill(0.1));
  const shownBy = (items: number, value: number): Evaluated => {
    const { evaluation } = judged(new Float64Array(100).fill(value));
    return { evaluation: { ...evaluation, lists: evaluation.lists.map((_, i) => i % items) } };
  };
  const broaderOf = (candidates: readonly Evaluated[], coverageMin = 0) =>
    decide(candidates, popularity, { ...options, coverageMin }).broader;

  test("is named with what it loses, and with the floor that chooses it", () => {
    const candidates = [shownBy(9, 0.3), shownBy(25, 0.2985), shownBy(40, 0.298)];
    const broader = broaderOf(candidates)!;
    expect(broader).toMatchObject({ candidate: 1, coverage: { own: 0.625, chosen: 0.225 }, coverageMin: 0.62 });
    const { coverageMin } = broader;
    expect(decide(candidates, popularity, { ...options, coverageMin }).chosen).toBe(1);
  });
  test("is not named if it loses more than one percent, or shows little more", () => {
    expect(broaderOf([shownBy(20, 0.3), shownBy(40, 0.29)])).toBeUndefined();
    expect(broaderOf([shownBy(20, 0.3), shownBy(28, 0.3)])).toBeUndefined();
    expect(broaderOf([shownBy(20, 0.3)])).toBeUndefined();
  });
  test("is not named if it is not reliably better than popularity, which is in no list of candidates", () => {
    expect(broaderOf([shownBy(20, 0.3), shownBy(40, 0.1)])).toBeUndefined();
    expect(broaderOf([shownBy(20, 0.05)])).toBeUndefined();
  });
  test("is not named once a floor has chosen it", () => {
    expect(broaderOf([shownBy(9, 0.3), shownBy(25, 0.2985)], 0.62)).toBeUndefined();
  });
  test("for any candidates, the floor chooses the named one", () => {
    const candidate = fc.record({ items: fc.integer({ min: 1, max: 40 }), loss: fc.integer({ min: 0, max: 30 }) });
    fc.assert(
      fc.property(fc.array(candidate, { minLength: 2, maxLength: 6 }), (drawn) => {
        const candidates = drawn.map(({ items, loss }) => shownBy(items, 0.3 - 0.0002 * loss));
        const broader = broaderOf(candidates);
        if (!broader) return;
        const { candidate, coverageMin, coverage } = broader;
        expect(decide(candidates, popularity, { ...options, coverageMin }).chosen).toBe(candidate);
        expect(coverage.own).toBeGreaterThan(coverage.chosen);
        const best = Math.min(...drawn.map(({ loss }) => loss));
        expect(drawn[candidate]!.loss - best).toBeLessThanOrEqual(15); // 1 % of 0.3
      }),
      { numRuns: 30 },
    );
  });
});
test("better on average but not beyond doubt: popularity", () => {
  const verdict = decide([noisy(200, 0.51, 1)], noisy(200, 0.5, 2), options);
  expect(verdict.chosen).toBeUndefined();
  expect(verdict.reasons[0]).toContain("not reliably better than popularity");
});
test("a higher mean that is in doubt loses to a lower one that is not", () => {
  const popularity = judged(new Float64Array(100).fill(0.1));
  const sure = judged(new Float64Array(100).fill(0.12));
  const wild = judged(Float64Array.from({ length: 100 }, (_, user) => (user < 2 ? 3 : 0.1)));
  expect(decide([wild, sure], popularity, options).chosen).toBe(1);
});
test("nothing tried: popularity", () => expect(decide([], noisy(100, 0.5, 1), options).chosen).toBeUndefined());
test("a few users cannot show anything, however clear", () => {
  const verdict = decide([judged(new Float64Array(29).fill(1))], judged(new Float64Array(29)), options);
  expect(verdict.chosen).toBeUndefined();
  expect(verdict.warnings.join()).toContain("Only 29 users have a choice");
  expect(decide([judged(new Float64Array(30).fill(1))], judged(new Float64Array(30)), options).chosen).toBe(0);
});

describe("several lists of each user", () => {
  test("are no further users", () => {
    const few = decide([judged(new Float64Array(145).fill(1), 5)], judged(new Float64Array(145), 5), options);
    expect(few.chosen).toBeUndefined();
    expect(few.warnings.join()).toContain("Only 29 users have a choice");
    const enough = decide([judged(new Float64Array(150).fill(1), 5)], judged(new Float64Array(150), 5), options);
    expect([enough.chosen, enough.reasons[0]]).toEqual([0, expect.stringContaining("on 30 users")]);
  });
  test("err together, so that what users have in common is no evidence", () => {
    // By user 0.05 ± 0.03; by list, as if independent, ± 0.013.
    const values = Float64Array.from({ length: 500 }, (_, list) => 0.05 + (Math.floor(list / 5) % 2 ? 0.3 : -0.3));
    expect(decide([judged(values)], judged(new Float64Array(500)), options).chosen).toBe(0);
    expect(decide([judged(values, 5)], judged(new Float64Array(500), 5), options).chosen).toBeUndefined();
  });
  test("are held out together when the luck of choosing is measured", () => {
    const luckOf = (lists: number) => {
      const twins = Array.from({ length: 20 }, (_, seed) => {
        const random = seededRandom(seed + 1);
        const users = Float64Array.from({ length: 100 }, () => random() - 0.5);
        return judged(
          Float64Array.from({ length: 500 }, (_, list) => users[Math.floor(list / 5)]!),
          lists,
        );
      });
      return choiceOptimism(twins, METRIC, 1)!;
    };
    expect(luckOf(5)).toBeGreaterThan(luckOf(1));
  });
});

describe("few interactions", () => {
  // A difference of 0.1 ± 0.04: above 0 at 95 %, not at 99.9 %.
  const difference = Float64Array.from({ length: 50 }, (_, user) => 0.1 + (user % 2 ? 0.283 : -0.283));
  const [candidate, popularity] = [judged(difference), judged(new Float64Array(50))];
  test("need stronger evidence, and are warned about", () => {
    const verdict = decide([candidate], popularity, { ...options, interactions: 999 });
    expect(verdict.chosen).toBeUndefined();
    expect(verdict.warnings).toEqual([expect.stringContaining("Only 999 interactions")]);
  });
  test("a thousand are enough", () =>
    expect(decide([candidate], popularity, { ...options, interactions: 1000 }).chosen).toBe(0));
});

describe("the luck of choosing", () => {
  test("is about the spread of the means for twenty equal candidates", () => {
    const twins = Array.from({ length: 20 }, (_, seed) => noisy(100, 0.5, seed + 1));
    expect(choiceOptimism(twins, METRIC, 1)).toBeGreaterThan(0.01); // standard error of a mean: 0.029
  });
  test("is nothing for a clear winner", () =>
    expect(choiceOptimism([noisy(100, 0.9, 1), noisy(100, 0.1, 2)], METRIC, 1)).toBeCloseTo(0, 9));
  test("without a choice there is none", () => expect(choiceOptimism([noisy(100, 0.9, 1)], METRIC, 1)).toBeNull());
});
test("evidence that is enough for one candidate is not enough for the luckiest of twenty", () => {
  const popularity = judged(new Float64Array(400));
  const lucky = judged(Float64Array.from({ length: 400 }, (_, user) => 0.0575 + (user % 2 === 0 ? 0.5 : -0.5))); // 2.3 errors
  const others = Array.from({ length: 19 }, () => judged(new Float64Array(400)));
  expect(decide([lucky], popularity, options).chosen).toBe(0);
  expect(decide([lucky, ...others], popularity, options).chosen).toBeUndefined();
});
