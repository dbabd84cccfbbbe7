import { expect, test } from "vitest";
import { candidateSource } from "../../../../trainer/learn/neural/candidates.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

test("every target is one candidate", () => {
  const targetCounts = Float64Array.of(4, 3, 2, 1, 0, 0);
  const draw = candidateSource({ targetCounts, drawnCount: 2, random: fitContext().random });
  for (let i = 0; i < 20; i++) {
    const targets = Int32Array.of(3, 0, 3, 1);
    const { indices } = draw(targets);
    expect(new Set(indices).size).toBe(indices.length);
    expect([...indices]).toEqual(expect.arrayContaining([...targets]));
  }
});

test.each([1, 3, 4, 9])("the correction is −log of the fraction of draws with an item (%i drawn)", (drawnCount) => {
  const targetCounts = Float64Array.of(60, 25, 10, 5);
  const { random } = fitContext(2);
  const draw = candidateSource({ targetCounts, drawnCount, random });
  const cumulative = [0.6, 0.85, 0.95, 1];
  const seen = new Float64Array(4);
  const corrections = new Float64Array(4);
  const rounds = 20_000;
  for (let round = 0; round < rounds; round++) {
    const targets = Int32Array.from({ length: 3 }, () => {
      const at = random();
      return cumulative.findIndex((bound) => at < bound);
    });
    const { indices, correction } = draw(targets);
    for (const [i, item] of indices.entries()) {
      seen[item]!++;
      corrections[item] = correction[i]!;
    }
  }
  for (let item = 0; item < 4; item++)
    expect(Math.abs(Math.exp(-corrections[item]!) - seen[item]! / rounds)).toBeLessThan(0.01);
});
