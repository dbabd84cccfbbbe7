import { describe, expect, test } from "vitest";
import type { History } from "../../../../shared/snapshot.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import { AS_SET } from "../../../../trainer/learn/linear/linear-model.ts";
import type { ExportedModel } from "../../../../trainer/learn/model.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { openBatchScorer } from "../../../../trainer/learn/scoring/batch-scorer.ts";
import { blend } from "../../../../trainer/learn/scoring/blend.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { denseWeights, factorWeights, strongestWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";
import { drawnWorld } from "../../../bench/edge-scale-world.ts";

const ITEMS = 300;
const random = seededRandom(3);
const numbers = (count: number) => Float32Array.from({ length: count }, () => random() - 0.5);
const weighting = { ...AS_SET, window: 10 };
const dense = denseWeights(ITEMS, ITEMS, numbers(ITEMS * ITEMS));
const low = factorWeights(ITEMS, 8, { left: numbers(8 * ITEMS), right: numbers(8 * ITEMS) });
const linear = (matrix: Parameters<typeof strongestWeights>[0] | typeof low | ReturnType<typeof strongestWeights>) =>
  fittedLinear("m", {}, { itemCount: ITEMS, terms: [{ weighting: { ...weighting, halfLifeDays: 5 }, matrix }] });
const sparse = linear(strongestWeights(dense, 20));
const pooled = (weightBytesMax: number) =>
  drawnWorld({ label: "pooled", itemCount: ITEMS, userCount: 1, weightBytesMax }).exported;
const budget = { weightBytesMax: 1e6 };

const MODELS: Readonly<Record<string, () => ExportedModel>> = {
  "vectors in float32": () => pooled(1e6),
  "vectors in bytes": () => pooled(40_000),
  "fewer directions in bytes": () => pooled(15_000),
  "a dense matrix": () => linear(dense).export(budget),
  "a sparse matrix with ages": () => sparse.export(budget),
  "a matrix of low rank": () => linear(low).export(budget),
  "a matrix of low rank in bytes": () => linear(low).export({ weightBytesMax: 8000 }),
  "a blend": () =>
    blend("b", {}, [
      { model: linear(low), weight: 0.7 },
      { model: sparse, weight: 0.3 },
    ]).export(budget),
};

describe.each(Object.keys(MODELS))("%s", (name) => {
  test("scores many histories as one", async () => {
    const exported = MODELS[name]!();
    const [single, batch] = [await openScorer(exported, ITEMS), await openBatchScorer(exported, ITEMS)];
    const histories = Array.from({ length: batch.count + 5 }, (_, i): History => {
      const items = Array.from({ length: 1 + (i % 9) }, () =>
        Math.floor(random() * ITEMS),
      ) as unknown as History["items"];
      return { items, agesDays: items.map(() => random() * 30) };
    });
    const found = await Promise.all(histories.map((history) => batch.score(history)));
    for (const [i, history] of histories.entries()) {
      const expected = await single.score(history);
      const largest = expected.reduce((most, score) => Math.max(most, Math.abs(score)), 0);
      expect(found[i]!.length).toBe(ITEMS);
      for (const [item, score] of expected.entries())
        expect(Math.abs(found[i]![item]! - score)).toBeLessThanOrEqual(1e-5 * largest);
    }
    await Promise.all([single.close(), batch.close()]);
  });
});

test("an error for one history rejects its batch and not the next one", async () => {
  const batch = await openBatchScorer(linear(low).export(budget), ITEMS);
  const one = { items: [3] as never, agesDays: [1] };
  const wrong = Array.from({ length: batch.count }, (_, i) => ({ ...one, items: [i === 0 ? 9999 : 3] as never }));
  const results = await Promise.allSettled(wrong.map((history) => batch.score(history)));
  expect(results.every(({ status }) => status === "rejected")).toBe(true);
  expect((await batch.score(one)).length).toBe(ITEMS);
  await batch.close();
});
