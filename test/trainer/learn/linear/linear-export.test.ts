import ortWeb from "onnxruntime-web/wasm";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { fittedLinear, leastLinearBytes } from "../../../../trainer/learn/linear/linear-export.ts";
import { AS_SET, setWeighting } from "../../../../trainer/learn/linear/linear-model.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { denseWeights, strongestWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";
import { referenceScores } from "../../../fixtures/reference-scores.ts";

const SIZE = 40;
const dense = denseWeights(
  SIZE,
  SIZE,
  Float32Array.from({ length: SIZE * SIZE }, (_, i) => Math.sin(i * i)),
);
const bias = Float32Array.from({ length: SIZE }, (_, i) => i / SIZE);
const history = { items: [3, 39, 0, 3, 7] as ItemIndex[], agesDays: [9, 5, 4, 1, 0] };
const each = { distinct: false, scale: Number.POSITIVE_INFINITY, window: 10 };
const decay = { distinct: false, scale: 2, window: 4 };

test.each([
  ["all entries alike", each],
  ["as a set", AS_SET],
  ["as a decaying set", setWeighting(2)],
  ["as a set that forgets by days", setWeighting(0, 3)],
  ["as a set of entries too old to tell apart", setWeighting(0, 0.01)],
  ["only the newest two", { ...each, window: 2 }],
  ["decaying by position", { ...each, scale: 1 / Math.LN2 }],
])("the graph weighs a history as the reference does: %s", async (_, weighting) => {
  const model = fittedLinear("m", {}, { itemCount: SIZE, terms: [{ weighting, matrix: dense }], bias });
  const scorer = await openScorer(model.export({ weightBytesMax: 1e6 }), SIZE);
  const [scores, reference] = [await scorer.score(history), referenceScores(model, history)];
  for (const [i, score] of scores.entries()) expect(score).toBeCloseTo(reference[i]!, 4);
  await scorer.close();
});

test.each([
  ["dense", dense, 1e6],
  ["dense in 8 bits", dense, 2000],
  ["sparse", strongestWeights(dense, 8), 1e6],
  ["sparse in 8 bits", strongestWeights(dense, 8), 1800],
  ["some weights and an 8-bit bias", dense, 700],
])("%s: onnxruntime-web in wasm and onnxruntime-node give the same scores", async (_, matrix, weightBytesMax) => {
  const terms = [
    { weighting: AS_SET, matrix },
    { weighting: { ...decay, halfLifeDays: 4 }, matrix },
  ];
  const model = fittedLinear("m", {}, { itemCount: SIZE, terms, bias });
  const exported = model.export({ weightBytesMax: 2 * weightBytesMax });
  const scorer = await openScorer(exported, SIZE);
  const native = await scorer.score(history);
  await scorer.close();

  const session = await ortWeb.InferenceSession.create(exported.graph, {
    externalData: exported.weights.map(({ path, bytes }) => ({ path, data: bytes })),
  });
  expect(session.inputNames).toEqual(["items", "ages_days"]);
  const items = new ortWeb.Tensor("int32", Int32Array.from(history.items), [history.items.length]);
  const ages_days = new ortWeb.Tensor("float32", Float32Array.from(history.agesDays), [history.items.length]);
  const { scores } = await session.run({ items, ages_days });
  for (const [i, score] of native.entries()) expect(scores!.data[i]).toBeCloseTo(score, 5);
  await session.release();
});

test("rows of frequent items keep most of their weights when not all fit", async () => {
  const uses = Float32Array.from({ length: SIZE }, (_, item) => (item === 3 ? 1e9 : 1));
  const terms = [
    { weighting: AS_SET, matrix: dense },
    { weighting: decay, matrix: dense },
  ];
  const model = fittedLinear("m", {}, { itemCount: SIZE, terms, uses });
  const exported = model.export({ weightBytesMax: 1000 });
  expect(exported.truncation).toMatch(/^2\d\d of 3,\d\d\d weights, which matter most; 8-bit weights$/);
  const scorer = await openScorer(exported, SIZE);
  const scoredItems = async (item: number) => {
    const scores = await scorer.score({ items: [item as ItemIndex], agesDays: [0] });
    return scores.filter((score) => score !== 0).length;
  };
  expect(await scoredItems(3)).toBeGreaterThan(38);
  expect(await scoredItems(4)).toBeLessThan(15);
  await scorer.close();
});

test.each([
  ["dense", dense],
  ["sparse", strongestWeights(dense, 8)],
])("%s: the least bytes are the size of the smallest export", (_, matrix) => {
  const linear = { itemCount: SIZE, terms: [{ weighting: AS_SET, matrix }], bias };
  const sizeWithin = (weightBytesMax: number) =>
    fittedLinear("m", {}, linear)
      .export({ weightBytesMax })
      .weights.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const least = leastLinearBytes(linear);
  expect(sizeWithin(least)).toBe(least);
  expect(sizeWithin(0)).toBe(least);
});
