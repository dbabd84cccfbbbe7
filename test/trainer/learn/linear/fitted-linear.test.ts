import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/fitted-linear.ts";
import { AS_SET, setWeighting } from "../../../../trainer/learn/linear/linear-model.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { denseWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

const history = { items: [2, 0, 2, 1] as ItemIndex[], agesDays: [3, 2, 1, 0] };
const each = { distinct: false, scale: Number.POSITIVE_INFINITY, halfLifeDays: Number.POSITIVE_INFINITY, window: 10 };

test.each([
  ["all alike", each],
  ["as a set", AS_SET],
  ["as a set, the newest more", setWeighting(2)],
  ["only the newest two", { ...each, window: 2 }],
  ["by position", { ...each, scale: 1 / Math.LN2 }],
  ["by age", { ...each, halfLifeDays: 2 }],
])("the graph weighs a history as the reference does: %s", async (_, weighting) => {
  const matrix = denseWeights(3, 3, Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8, 10));
  const model = fittedLinear("m", {}, { itemCount: 3, terms: [{ weighting, matrix }], bias: Float32Array.of(1, 0, 0) });
  const scorer = await openScorer(model.export({ weightBytesMax: 1000 }), 3);
  const [scores, reference] = [await scorer.score(history), model.score(history)];
  for (const [i, score] of scores.entries()) expect(score).toBeCloseTo(reference[i]!, 4);
  await scorer.close();
});
