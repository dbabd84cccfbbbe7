import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { AS_SET, historyWeights, scoreLinear } from "../../../../trainer/learn/linear/linear-model.ts";
import { denseWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

const history = { items: [2, 0, 2, 1] as ItemIndex[], agesDays: [3, 2, 1, 0] };
const each = { distinct: false, scale: Number.POSITIVE_INFINITY, halfLifeDays: Number.POSITIVE_INFINITY, window: 10 };

test.each([
  ["all alike", each, [1, 1, 1, 1]],
  ["as a set: an item counts where it is newest", AS_SET, [0, 1, 1, 1]],
  ["only the newest two", { ...each, window: 2 }, [0, 0, 1, 1]],
  ["by position", { ...each, scale: 1 / Math.LN2 }, [1 / 8, 1 / 4, 1 / 2, 1]],
  ["by age", { ...each, halfLifeDays: 2 }, [2 ** -1.5, 1 / 2, 2 ** -0.5, 1]],
])("%s", (_, weighting, expected) => {
  const weights = historyWeights(weighting, history);
  for (const [i, weight] of weights.entries()) expect(weight).toBeCloseTo(expected[i]!, 12);
});

test("scores are the bias and each term's rows of the history's items, weighed", () => {
  const matrix = denseWeights(3, 3, Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 10));
  const newest = { ...each, window: 1 };
  const terms = [
    { weighting: AS_SET, matrix },
    { weighting: newest, matrix },
  ];
  const scores = scoreLinear({ itemCount: 3, terms, bias: Float32Array.of(100, 0, 0) }, history);
  expect([...scores]).toEqual([100 + 12 + 4, 15 + 5, 19 + 6]);
});
