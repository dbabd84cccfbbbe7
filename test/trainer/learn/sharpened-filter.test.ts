import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { type SharpenedFilterParams, sharpenedFilter } from "../../../trainer/learn/sharpened-filter.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sharpenedFilter as Method);

/** Dᵢ^−b (S − sharpen · S² + smooth · I) Dᵢ^p, computed with dense matrices. */
function denseFilter(
  itemCount: number,
  users: readonly (readonly number[])[],
  { userExponent, itemExponent, sharpen, smooth, targetExponent }: Required<SharpenedFilterParams>,
) {
  const all = Array.from({ length: itemCount }, (_, i) => i);
  const popularity = all.map((i) => users.filter((items) => items.includes(i)).length);
  const divisor = popularity.map((count) => count ** itemExponent || 1);
  const gram = all.map((i) =>
    all.map((j) => {
      const both = users.filter((items) => items.includes(i) && items.includes(j));
      return both.reduce((sum, { length }) => sum + length ** (-2 * userExponent), 0) / (divisor[i]! * divisor[j]!);
    }),
  );
  let vector = all.map((i) => 1 + i / 7);
  let largest = 1;
  for (let step = 0; step < 500; step++) {
    const image = gram.map((row) => row.reduce((sum, value, j) => sum + value * vector[j]!, 0));
    largest = Math.hypot(...image);
    vector = image.map((value) => value / largest);
  }
  const s = gram.map((row) => row.map((value) => value / largest));
  const squared = (i: number, j: number) => all.reduce((sum, k) => sum + s[i]![k]! * s[k]![j]!, 0);
  const filtered = (i: number, j: number) => s[i]![j]! - sharpen * squared(i, j) + (i === j ? smooth : 0);
  const target = popularity.map((count) => count ** targetExponent);
  return all.map((i) => all.map((j) => (filtered(i, j) / divisor[i]!) * target[j]!));
}

test("the exported scores are D^−b (S − sharpen · S² + smooth · V Vᵀ) D^p of the history, for any interactions", async () => {
  const itemCount = 9;
  // Every item but the last is some user's only one, so that S has full rank on them and V Vᵀ is the identity.
  const alone = Array.from({ length: itemCount - 1 }, (_, item) => [item]);
  const user = fc.uniqueArray(fc.integer({ min: 0, max: itemCount - 2 }), { maxLength: itemCount });
  const history = fc.uniqueArray(fc.integer({ min: 0, max: itemCount - 1 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(user, { minLength: 1, maxLength: 12 }), history, async (others, items) => {
      const users = [...alone, ...others];
      const params = { userExponent: 0.2, itemExponent: 0.4, sharpen: 0.7, rank: 9, smooth: 0.2, targetExponent: 0.3 };
      const model = await sharpenedFilter.fit(trainingData(itemCount, users), params, fitContext());
      const scorer = await openScorer(model.export({ weightBytesMax: 1e9 }), itemCount);
      const scores = await scorer.score({ items: items as ItemIndex[], agesDays: items.map(() => 0) });
      await scorer.close();
      const weights = denseFilter(itemCount, users, params);
      for (let j = 0; j < itemCount; j++) {
        const expected = items.reduce((sum, i) => sum + weights[i]![j]!, 0);
        expect(scores[j]).toBeCloseTo(expected, 3);
      }
      expect(scores[itemCount - 1]).toBe(0); // nobody chose it
    }),
    { numRuns: 30 },
  );
});
