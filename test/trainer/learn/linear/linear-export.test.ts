import ortWeb from "onnxruntime-web/wasm";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/fitted-linear.ts";
import { leastLinearBytes } from "../../../../trainer/learn/linear/linear-export.ts";
import { AS_SET } from "../../../../trainer/learn/linear/linear-model.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { denseWeights, strongestWeights } from "../../../../trainer/learn/weights/weight-matrix.ts";

const SIZE = 40;
const dense = denseWeights(
  SIZE,
  SIZE,
  Float32Array.from({ length: SIZE * SIZE }, (_, i) => Math.sin(i * i)),
);
const bias = Float32Array.from({ length: SIZE }, (_, i) => i / SIZE);
const history = { items: [3, 39, 0, 3, 7] as ItemIndex[], agesDays: [9, 5, 4, 1, 0] };
const decay = { distinct: false, scale: 2, halfLifeDays: 3, window: 4 };

test.each([
  ["dense", dense, 1e6],
  ["dense in 8 bits", dense, 2000],
  ["sparse", strongestWeights(dense, 8), 1e6],
  ["sparse in 8 bits", strongestWeights(dense, 8), 1800],
  ["some weights and an 8-bit bias", dense, 700],
])("%s: onnxruntime-web in wasm and onnxruntime-node give the same scores", async (_, matrix, weightBytesMax) => {
  const terms = [
    { weighting: AS_SET, matrix },
    { weighting: decay, matrix },
  ];
  const model = fittedLinear("m", {}, { itemCount: SIZE, terms, bias });
  const exported = model.export({ weightBytesMax: 2 * weightBytesMax });
  const scorer = await openScorer(exported, SIZE);
  const native = await scorer.score(history);
  await scorer.close();

  const session = await ortWeb.InferenceSession.create(exported.graph, {
    externalData: exported.weights.map(({ path, bytes }) => ({ path, data: bytes })),
  });
  const { scores } = await session.run({
    items: new ortWeb.Tensor("int32", Int32Array.from(history.items), [history.items.length]),
    ages_days: new ortWeb.Tensor("float32", Float32Array.from(history.agesDays), [history.items.length]),
  });
  for (const [i, score] of native.entries()) expect(scores!.data[i]).toBeCloseTo(score, 5);
  await session.release();
});

test("only what is used is declared: no ages without a half-life", async () => {
  const model = fittedLinear("m", {}, { itemCount: SIZE, terms: [{ weighting: AS_SET, matrix: dense }], bias });
  const session = await ortWeb.InferenceSession.create(model.export({ weightBytesMax: 1e6 }).graph, {
    externalData: model.export({ weightBytesMax: 1e6 }).weights.map(({ path, bytes }) => ({ path, data: bytes })),
  });
  expect(session.inputNames).toEqual(["items"]);
  await session.release();
});

test("what is used most is pruned least, over all terms", async () => {
  const uses = Float32Array.from({ length: SIZE }, (_, item) => (item === 3 ? 1e9 : 1));
  const terms = [
    { weighting: AS_SET, matrix: dense },
    { weighting: decay, matrix: dense },
  ];
  const model = fittedLinear("m", {}, { itemCount: SIZE, terms, bias: undefined, uses });
  const exported = model.export({ weightBytesMax: 1000 });
  expect(exported.truncation).toMatch(/^2\d\d of 3,\d\d\d weights, which matter most; 8-bit weights$/);
  const scorer = await openScorer(exported, SIZE);
  const scoresOf = (item: number) => scorer.score({ items: [item as ItemIndex], agesDays: [0] });
  const heard = async (item: number) => (await scoresOf(item)).filter((score) => score !== 0).length;
  expect(await heard(3)).toBeGreaterThan(38);
  expect(await heard(4)).toBeLessThan(15);
  await scorer.close();
});

test.each([
  ["dense", dense],
  ["sparse", strongestWeights(dense, 8)],
])("%s: the least bytes are those of the smallest export", (_, matrix) => {
  const linear = { itemCount: SIZE, terms: [{ weighting: AS_SET, matrix }], bias };
  const sizeWithin = (weightBytesMax: number) =>
    fittedLinear("m", {}, linear)
      .export({ weightBytesMax })
      .weights.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const least = leastLinearBytes(linear);
  expect(sizeWithin(least)).toBe(least);
  expect(sizeWithin(0)).toBe(least);
});
