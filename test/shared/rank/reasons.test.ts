import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { REASONS_MAX, reasonItemsMax, reasonsFor } from "../../../shared/rank/reasons.ts";
import type { History } from "../../../shared/snapshot.ts";

const ITEMS = 40;
/** What each item of a history adds to the score of each item. */
const weight = (from: number, to: number) => ((from * 7 + to * 13) % 11) - 4;

/** A model that adds the contributions of its history, and counts its runs. */
function additive() {
  const runs: History[] = [];
  const score = async (history: History) => {
    runs.push(history);
    return Float32Array.from({ length: ITEMS }, (_, to) =>
      history.items.reduce((sum, from) => sum + weight(from, to), 0),
    );
  };
  return { score, runs };
}
const historyOf = (items: readonly number[]): History => ({
  items: items as ItemIndex[],
  agesDays: items.map(() => 1),
});

test("shares are exact for an additive model, and runs are bounded", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.nat(ITEMS - 1), { minLength: 2, maxLength: 18 }), async (entries) => {
      const { score, runs } = additive();
      const scored = [3, 30] as ItemIndex[];
      const reasons = await reasonsFor(scored, historyOf(entries), { score, itemCount: ITEMS });
      expect(runs.length).toBeLessThanOrEqual(20 + 2);
      if (new Set(entries).size < 2) return;
      for (const [i, to] of scored.entries()) {
        const gains = new Map<number, number>();
        for (const from of entries) gains.set(from, (gains.get(from) ?? 0) + weight(from, to));
        const positive = [...gains.values()].filter((gain) => gain > 0);
        const total = positive.reduce((sum, gain) => sum + gain, 0);
        const best = positive.sort((a, b) => b - a).slice(0, REASONS_MAX);
        expect(reasons[i]!.map(({ share }) => share)).toEqual(best.map((gain) => expect.closeTo(gain / total, 5)));
        for (const { item, share } of reasons[i]!) expect(gains.get(item)! / total).toBeCloseTo(share, 5);
      }
    }),
  ));

test("items beyond the newest are left out together, and count for the shares", async () => {
  const { score, runs } = additive();
  const entries = [...Array(30).keys()];
  const [reasons] = await reasonsFor([1 as ItemIndex], historyOf(entries), { score, itemCount: ITEMS });
  expect(runs).toHaveLength(20 + 2);
  expect(runs.at(-1)!.items).toEqual(entries.slice(-20));
  expect(reasons!.every(({ item }) => item >= 10)).toBe(true);
  expect(reasons!.reduce((sum, { share }) => sum + share, 0)).toBeLessThan(1);
});

test("a single item of the history is the only reason; without a history there is none", async () => {
  const { score, runs } = additive();
  expect(await reasonsFor([1, 2] as ItemIndex[], historyOf([5, 5]), { score, itemCount: ITEMS })).toEqual(
    Array(2).fill([{ item: 5, share: 1 }]),
  );
  expect(await reasonsFor([1] as ItemIndex[], historyOf([]), { score, itemCount: ITEMS })).toEqual([[]]);
  expect(runs).toEqual([]);
});

test("a model that ignores its history gives no reasons", async () => {
  const score = async () => new Float32Array(ITEMS).fill(2);
  expect(await reasonsFor([1] as ItemIndex[], historyOf([5, 6]), { score, itemCount: ITEMS })).toEqual([[]]);
});

test("large catalogs have fewer items left out", () =>
  expect([1000, 100_000, 250_000, 1e6, 1e7].map(reasonItemsMax)).toEqual([20, 20, 8, 4, 4]));
