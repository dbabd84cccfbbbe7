import { expect, test } from "vitest";
import { likeliestWeights, type ScoredPool } from "../../../../trainer/learn/neural/blend-weights.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const ITEMS = 30;

/** Targets drawn with the probabilities softmax(sharpness · (first + weight · second)); scores are noise. */
function pools(count: number, { weight, sharpness }: { weight: number; sharpness: number }): ScoredPool[] {
  const { random } = fitContext(3);
  return Array.from({ length: count }, () => {
    const scores = [0, 1].map(() => Float32Array.from({ length: ITEMS }, () => 3 * (random() + random() - 1)));
    const probabilities = scores[0]!.map((score, i) => Math.exp(sharpness * (score + weight * scores[1]![i]!)));
    let left = random() * probabilities.reduce((sum, probability) => sum + probability, 0);
    let target = 0;
    while (target < ITEMS - 1 && left > probabilities[target]!) left -= probabilities[target++]!;
    return { scores, target };
  });
}

test.each([
  [1.6, 1],
  [0.4, 4],
])("the weight %d is found from targets drawn with it, at sharpness %d", (weight, sharpness) => {
  expect(likeliestWeights(pools(1000, { weight, sharpness }), 2)).toEqual([1, weight]);
});

test("a part without information gets no weight", () => {
  const learnt = likeliestWeights(pools(500, { weight: 0, sharpness: 3 }), 2);
  expect(learnt[1]).toBeLessThanOrEqual(0.025);
});

test("without held-out entries every further part gets a small weight", () => {
  expect(likeliestWeights([], 3)).toEqual([1, 0.05, 0.05]);
});
