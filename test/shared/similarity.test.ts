import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeSimilarity, encodeSimilarity, similarityStatistics } from "../../shared/similarity.ts";

const COUNT = 6;
const scores = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: COUNT, maxLength: COUNT });
const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviationOf = (values: readonly number[]) =>
  Math.sqrt(meanOf(values.map((value) => (value - meanOf(values)) ** 2)));
const standardised = (values: readonly number[]) =>
  values.map((value) => (value - meanOf(values)) / (deviationOf(values) || 1));

test("lifts are those of the definition, as exactly as bytes can tell", () =>
  fc.assert(
    fc.property(fc.array(scores, { minLength: 1, maxLength: 8 }), scores, (sample, own) => {
      const statistics = similarityStatistics(COUNT);
      for (const one of sample) statistics.add(Float32Array.from(one));
      const similarity = decodeSimilarity(encodeSimilarity({ knownCount: 4, ...statistics.result() }));
      expect(similarity).toMatchObject({ itemCount: COUNT, knownCount: 4 });
      const lifts = Float32Array.from(own);
      similarity.toLifts(lifts);
      const columns = sample.map(standardised);
      for (const [item, score] of standardised(own).entries()) {
        const usual = columns.map((column) => column[item]!);
        const [mean, deviation] = [meanOf(usual), deviationOf(usual)];
        // Values within a range of at most 5 are stored in steps of at most 2 · 5 / 255.
        const lowest = (score - mean - 0.04) / (deviation + (score > mean ? 0.24 : 0.16));
        const highest = (score - mean + 0.04) / (deviation + (score > mean ? 0.16 : 0.24));
        expect(lifts[item]).toBeGreaterThan(Math.min(lowest, highest) - 0.3);
        expect(lifts[item]).toBeLessThan(Math.max(lowest, highest) + 0.3);
      }
    }),
  ));

test("a file that contradicts itself is refused", () => {
  const bytes = encodeSimilarity({ knownCount: 9, mean: new Float32Array(2), deviation: new Float32Array(2) });
  expect(() => decodeSimilarity(bytes)).toThrow("9 known items of 2");
  const statistics = { knownCount: 2, mean: new Float32Array(2), deviation: new Float32Array(2) };
  const strengths = Float32Array.of(1, 1, 1);
  const decode = (perItem: number, ...items: number[]) =>
    decodeSimilarity(
      encodeSimilarity({ ...statistics, neighbours: { perItem, items: Uint32Array.from(items), strengths } }),
    );
  expect(() => decode(2, 0, 1, 1)).toThrow("not rows of 2 items");
  expect(() => decode(3, 0, 1, 2)).toThrow("below 2");
});
