import native from "onnxruntime-node";
import * as web from "onnxruntime-web/wasm";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { topK } from "../../../../shared/top-k.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/linear-export.ts";
import { AS_SET } from "../../../../trainer/learn/linear/linear-model.ts";
import type { ExportedModel } from "../../../../trainer/learn/model.ts";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { blend } from "../../../../trainer/learn/scoring/blend.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { besidePooled, sharpenedFilter } from "../../../../trainer/learn/sharpened-filter.ts";
import { sparseBuilder } from "../../../../trainer/learn/weights/sparse-builder.ts";
import { denseWeights, factorWeights, type WeightMatrix } from "../../../../trainer/learn/weights/weight-matrix.ts";
import { drawnWorld } from "../../../bench/edge-scale-world.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { referenceScores } from "../../../fixtures/reference-scores.ts";

const modelOf = (itemCount: number, matrix: WeightMatrix, window = 10) =>
  fittedLinear("m", {}, { itemCount, terms: [{ weighting: { ...AS_SET, window }, matrix }] });
const twoItems = (values: number[], window = 10) => modelOf(2, denseWeights(2, 2, Float32Array.from(values)), window);
const square = (size: number) =>
  denseWeights(
    size,
    size,
    Float32Array.from({ length: size * size }, (_, i) => i + 1),
  );
const sizeOf = ({ weights }: ExportedModel) => weights.reduce((sum, { bytes }) => sum + bytes.length, 0);
const history = { items: [1, 0] as ItemIndex[], agesDays: [1, 0] };

test("scores (4, 2) and (0, 30) have the deviations 1 and 15: with the weights 1 and 0.5 their sum is (4, 3)", async () => {
  const model = blend("b", {}, [
    { model: twoItems([4, 2, 0, 0], 1), weight: 1 },
    { model: twoItems([0, 10, 0, 20]), weight: 0.5 },
  ]);
  expect([...referenceScores(model, history)]).toEqual([4, 3]);
  expect(model.historyMax).toBe(10);
  const scorer = await openScorer(model.export({ weightBytesMax: 1000 }), 2);
  for (const [i, score] of (await scorer.score(history)).entries()) expect(score).toBeCloseTo([4, 3][i]!, 5);
  await scorer.close();
});

test("the deviation of mostly equal scores of a million items is exact in both runtimes", async () => {
  const itemCount = 1_000_000;
  const random = seededRandom(7);
  const builder = sparseBuilder(itemCount, itemCount);
  const rows = [0, 1, 2, 3, 4] as ItemIndex[];
  for (let row = 0; row < itemCount; row++) {
    const reached = row < rows.length ? Array.from({ length: 1000 }, () => Math.floor(itemCount * random() ** 2)) : [];
    for (const column of new Set(reached)) builder.add(column, random() - 0.2);
    builder.endRow();
  }
  const plain = modelOf(itemCount, builder.build());
  const exported = blend("b", {}, [{ model: plain, weight: 1 }]).export({ weightBytesMax: 1e8 });
  const alone = referenceScores(plain, { items: rows, agesDays: rows });
  const mean = Float64Array.from(alone).reduce((sum, score) => sum + score, 0) / itemCount;
  const variance = Float64Array.from(alone).reduce((sum, score) => sum + (score - mean) ** 2, 0) / itemCount;
  const best = topK(alone, 1)[0]!;
  for (const runtime of [native, web]) {
    const session = await runtime.InferenceSession.create(exported.graph, {
      externalData: exported.weights.map(({ path, bytes }) => ({ path, data: bytes })),
    });
    const { scores } = await session.run({ items: new runtime.Tensor("int32", Int32Array.from(rows), [5]) } as never);
    const ratio = (scores!.data as Float32Array)[best]! / (alone[best]! / Math.sqrt(variance));
    expect(Math.abs(ratio - 1)).toBeLessThan(2e-5);
    await session.release();
  }
});

test("a part that scores all items alike adds nothing, and the sum stays finite", async () => {
  const model = blend("b", {}, [
    { model: twoItems([4, 2, 0, 0]), weight: 1 },
    { model: twoItems([0, 0, 0, 0]), weight: 1 },
  ]);
  expect([...referenceScores(model, history)]).toEqual([4, 2]);
  const scorer = await openScorer(model.export({ weightBytesMax: 1000 }), 2);
  expect((await scorer.score(history)).every(Number.isFinite)).toBe(true);
  await scorer.close();
});

test("the parts divide the budget, and the truncation names the part", () => {
  const parts = [1, 2].map(() => ({ model: twoItems([1, 2, 3, 4]), weight: 1 }));
  const exported = blend("b", {}, parts).export({ weightBytesMax: 24 });
  expect(sizeOf(exported)).toBeLessThanOrEqual(24);
  expect(exported.truncation).toBe("m: 8-bit weights; m: 8-bit weights");
  expect(new Set(exported.weights.map(({ path }) => path)).size).toBe(exported.weights.length);
});

test("a part that needs less than its quota leaves the rest to the others, whatever their weights", () => {
  const small = fittedLinear("s", {}, { itemCount: 8, terms: [], bias: new Float32Array(8) });
  const model = blend("b", {}, [
    { model: modelOf(8, square(8)), weight: 0.05 },
    { model: small, weight: 1 },
  ]);
  const whole = 4 * 8 * 8 + 4 * 8;
  const roomy = model.export({ weightBytesMax: whole });
  expect([sizeOf(roomy), roomy.truncation]).toEqual([whole, ""]);
  const tight = model.export({ weightBytesMax: whole - 1 });
  expect(sizeOf(tight)).toBeLessThan(whole);
  expect(tight.truncation).toBe("m: 8-bit weights");
});

test("a part of small weight gets at least its smallest size, and the budget is kept", () => {
  const itemCount = 40;
  const values = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(i));
  const factors = factorWeights(itemCount, 4, { left: values(4 * itemCount), right: values(4 * itemCount) });
  const parts = [
    { model: modelOf(itemCount, denseWeights(itemCount, itemCount, values(itemCount ** 2))), weight: 1 },
    { model: modelOf(itemCount, factors), weight: 0.1 },
  ];
  for (const weightBytesMax of [600, 1000, 2000]) {
    const exported = blend("b", {}, parts).export({ weightBytesMax });
    expect(sizeOf(exported)).toBeLessThanOrEqual(weightBytesMax);
    expect(exported.truncation).toContain("rank 1 of 4");
  }
});

test("all parts are in codes before one leaves vectors out, and such lists are nearly those of exact weights", async () => {
  const itemCount = 1000;
  const { dataset, historyOf, model } = drawnWorld({ label: "w", itemCount, userCount: 300, weightBytesMax: 1e7 });
  const filter = await sharpenedFilter.fit(dataset, { ...besidePooled(dataset), rank: 128 }, fitContext());
  const whole = blend("b", {}, [
    { model, weight: 5 },
    { model: filter, weight: 1 },
  ]);
  const coded = whole.export({ weightBytesMax: whole.bytesCoded() });
  expect(sizeOf(coded)).toBe(whole.bytesCoded());
  expect(coded.truncation).toBe(
    "pooled: item vectors as int8 with one scale per item; sharpened_filter: 8-bit weights",
  );
  const scorers = await Promise.all(
    [whole.export({ weightBytesMax: 1e7 }), coded].map((exported) => openScorer(exported, itemCount)),
  );
  let [same, all] = [0, 0];
  for (let user = 0; user < 50; user++) {
    const past = { items: historyOf(user, 20), agesDays: new Array<number>(20).fill(0) };
    const [exact, found] = [topK(await scorers[0]!.score(past), 20), topK(await scorers[1]!.score(past), 20)];
    all += exact.length;
    same += exact.filter((item) => found.includes(item)).length;
  }
  expect(same / all).toBeGreaterThan(0.96);
  for (const scorer of scorers) await scorer.close();
});
