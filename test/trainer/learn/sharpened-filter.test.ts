import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { symmetricEigen } from "../../../trainer/learn/numerics/linear-algebra/symmetric-eigen.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";
import { besidePooled, type SharpenedFilterParams, sharpenedFilter } from "../../../trainer/learn/sharpened-filter.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { fitContext } from "../../fixtures/fit-context.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(sharpenedFilter as Method);

/** Dᵢ^−b (S − sharpen · S² + smooth · I) Dᵢ^p, computed with dense matrices. A plateau replaces S by a multiple of I. */
function denseFilter(
  itemCount: number,
  users: readonly (readonly number[])[],
  { userExponent, itemExponent, sharpen, smooth, plateau, targetExponent }: Required<SharpenedFilterParams>,
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
  const eigenvalues = symmetricEigen(Float64Array.from(gram.flat()), itemCount).values;
  const largest = eigenvalues[0]!;
  const s = gram.map((row) => row.map((value) => value / largest));
  const level = (plateau * eigenvalues[itemCount - 2]!) / largest; // the last item has an eigenvalue of 0
  const squared = (i: number, j: number) => all.reduce((sum, k) => sum + s[i]![k]! * s[k]![j]!, 0);
  const filtered = (i: number, j: number) =>
    (plateau > 0 ? 0 : s[i]![j]!) - sharpen * squared(i, j) + (i === j ? smooth + level : 0);
  const target = popularity.map((count) => count ** targetExponent);
  return all.map((i) => all.map((j) => (filtered(i, j) / divisor[i]!) * target[j]!));
}

test("the exported scores are those of the formula, for any interactions and with or without a plateau", async () => {
  const itemCount = 9;
  // Every item but the last is some user's only one, so that S has full rank on them and V Vᵀ is the identity.
  const alone = Array.from({ length: itemCount - 1 }, (_, item) => [item]);
  const user = fc.uniqueArray(fc.integer({ min: 0, max: itemCount - 2 }), { maxLength: itemCount });
  const history = fc.uniqueArray(fc.integer({ min: 0, max: itemCount - 1 }), { minLength: 1, maxLength: 5 });
  const others = fc.array(user, { minLength: 1, maxLength: 12 });
  const exponents = { userExponent: 0.2, itemExponent: 0.4, targetExponent: 0.3 };
  await fc.assert(
    fc.asyncProperty(others, history, fc.constantFrom(0, 2), async (others, items, plateau) => {
      const users = [...alone, ...others];
      const params = { ...exponents, sharpen: 0.7, rank: itemCount - 1, smooth: 0.2, plateau };
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

test.each([
  [50_000, 640, 10_000, 10],
  [499_999, 30_000, 30_000, 128],
  [500_000, 30_000, 30_000, 192],
])("of %i interactions of %i users with %i items, %i vectors are levelled", (count, userCount, itemCount, rank) => {
  const data = { ...trainingData(0, []), userCount, itemCount, items: new Int32Array(count) };
  expect(besidePooled(data).rank).toBe(rank);
});
