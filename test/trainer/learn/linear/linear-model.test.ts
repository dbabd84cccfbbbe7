import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { AS_SET, historyWeights, scoreLinear, setWeighting } from "../../../../trainer/learn/linear/linear-model.ts";
import { denseWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

const items = [2, 0, 2, 1] as ItemIndex[];
const each = { distinct: false, scale: Number.POSITIVE_INFINITY, window: 10 };

test.each([
  ["every entry counts 1", each, [1, 1, 1, 1]],
  ["a set counts an item once, at its newest position", AS_SET, [0, 1, 1, 1]],
  ["a set may decay by position", setWeighting(1 / Math.LN2), [0, 1 / 4, 1 / 2, 1]],
  ["a window of two reads the newest two entries", { ...each, window: 2 }, [0, 0, 1, 1]],
  [
    "a scale of 1 / ln 2 halves the weight with each position",
    { ...each, scale: 1 / Math.LN2 },
    [1 / 8, 1 / 4, 1 / 2, 1],
  ],
])("%s", (_, weighting, expected) => {
  const weights = historyWeights(weighting, items);
  for (const [i, weight] of weights.entries()) expect(weight).toBeCloseTo(expected[i]!, 12);
});

test("scores are the bias plus each term's weighted rows of the history's items", () => {
  const matrix = denseWeights(3, 3, Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 10));
  const terms = [
    { weighting: AS_SET, matrix },
    { weighting: { ...each, window: 1 }, matrix },
  ];
  const model = { itemCount: 3, terms, bias: Float32Array.of(100, 0, 0) };
  expect([...scoreLinear(model, { items, agesDays: [3, 2, 1, 0] })]).toEqual([100 + 12 + 4, 15 + 5, 19 + 6]);
});
