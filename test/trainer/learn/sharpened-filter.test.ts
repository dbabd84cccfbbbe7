import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { sharpenedFilter } from "../../../trainer/learn/sharpened-filter.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sharpenedFilter as Method);

/** Dᵢ^−b (S − sharpen · S²), computed with dense matrices. */
function denseFilter(
  itemCount: number,
  users: readonly (readonly number[])[],
  { userExponent, itemExponent, sharpen }: { userExponent: number; itemExponent: number; sharpen: number },
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
  return all.map((i) => all.map((j) => (s[i]![j]! - sharpen * squared(i, j)) / divisor[i]!));
}

test("the exported scores are D^−b (S − sharpen · S²) of the history, for any interactions", async () => {
  const itemCount = 9;
  const user = fc.uniqueArray(fc.integer({ min: 0, max: itemCount - 2 }), { maxLength: itemCount });
  const history = fc.uniqueArray(fc.integer({ min: 0, max: itemCount - 1 }), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(user, { minLength: 1, maxLength: 12 }), history, async (users, items) => {
      fc.pre(users.some(({ length }) => length > 0));
      const params = { userExponent: 0.2, itemExponent: 0.4, sharpen: 0.7, rank: itemCount };
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
