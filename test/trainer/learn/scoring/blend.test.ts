import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { fittedLinear } from "../../../../trainer/learn/linear/fitted-linear.ts";
import { AS_SET } from "../../../../trainer/learn/linear/linear-model.ts";
import type { Method } from "../../../../trainer/learn/model.ts";
import { blend, fitParts } from "../../../../trainer/learn/scoring/blend.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { denseWeights, factorWeights, type WeightMatrix } from "../../../../trainer/learn/weights/weight-matrix.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const modelOf = (values: number[], window = 10) =>
  fittedLinear(
    "m",
    {},
    {
      itemCount: 2,
      terms: [{ weighting: { ...AS_SET, window }, matrix: denseWeights(2, 2, Float32Array.from(values)) }],
      bias: undefined,
    },
  );
const history = { items: [1, 0] as ItemIndex[], agesDays: [1, 0] };

test("scores (4, 2) and (0, 30) deviate by 1 and 15: in shares of 1 and 0.5 they make (4, 3)", async () => {
  const model = blend("b", {}, [
    { model: modelOf([4, 2, 0, 0], 1), share: 1 },
    { model: modelOf([0, 10, 0, 20]), share: 0.5 },
  ]);
  expect([...model.score(history)]).toEqual([4, 3]);
  expect(model.historyMax).toBe(10);
  const scorer = await openScorer(model.export({ weightBytesMax: 1000 }), 2);
  for (const [i, score] of (await scorer.score(history)).entries()) expect(score).toBeCloseTo([4, 3][i]!, 5);
  await scorer.close();
});

test("a part that scores all items alike says nothing, and the sum stays finite", async () => {
  const model = blend("b", {}, [
    { model: modelOf([4, 2, 0, 0]), share: 1 },
    { model: modelOf([0, 0, 0, 0]), share: 1 },
  ]);
  expect([...model.score(history)]).toEqual([4, 2]);
  const scorer = await openScorer(model.export({ weightBytesMax: 1000 }), 2);
  expect((await scorer.score(history)).every(Number.isFinite)).toBe(true);
  await scorer.close();
});

test("the parts share the budget, and what was left out says of which part", () => {
  const large = Array.from({ length: 4 }, (_, i) => i + 1);
  const parts = [1, 2].map(() => ({ model: modelOf(large), share: 1 }));
  const { weights, truncation } = blend("b", {}, parts).export({ weightBytesMax: 24 });
  expect(weights.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThanOrEqual(24);
  expect(truncation).toBe("m: 8-bit weights; m: 8-bit weights");
  expect(new Set(weights.map(({ path }) => path)).size).toBe(weights.length);
});

test("a part that needs less than its share leaves the rest to the others, whatever their shares", () => {
  const matrix = (size: number) =>
    denseWeights(
      size,
      size,
      Float32Array.from({ length: size * size }, (_, i) => i + 1),
    );
  const square = (size: number) =>
    fittedLinear("m", {}, { itemCount: size, terms: [{ weighting: AS_SET, matrix: matrix(size) }], bias: undefined });
  // Alike but for what they weigh: the first has a bias of a few bytes and no matrix.
  const small = fittedLinear("s", {}, { itemCount: 8, terms: [], bias: new Float32Array(8) });
  const parts = [
    { model: square(8), share: 0.05 },
    { model: small, share: 1 },
  ];
  const whole = 4 * 8 * 8 + 4 * 8;
  const sizeOf = (weightBytesMax: number) => {
    const { weights, truncation } = blend("b", {}, parts).export({ weightBytesMax });
    return { bytes: weights.reduce((sum, { bytes }) => sum + bytes.length, 0), truncation };
  };
  expect(sizeOf(whole)).toEqual({ bytes: whole, truncation: "" });
  const tight = sizeOf(whole - 1);
  expect(tight.bytes).toBeLessThan(whole);
  expect(tight.truncation).toBe("m: 8-bit weights");
});

test("a part of a small share has what it takes at least, and the budget is kept", () => {
  const itemCount = 40;
  const values = (count: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(i));
  const factors = factorWeights(itemCount, 4, { left: values(4 * itemCount), right: values(4 * itemCount) });
  const modelWith = (matrix: WeightMatrix) =>
    fittedLinear("m", {}, { itemCount, terms: [{ weighting: AS_SET, matrix }], bias: undefined });
  const parts = [
    { model: modelWith(denseWeights(itemCount, itemCount, values(itemCount ** 2))), share: 1 },
    { model: modelWith(factors), share: 0.1 },
  ];
  for (const weightBytesMax of [500, 1000, 2000]) {
    const { weights, truncation } = blend("b", {}, parts).export({ weightBytesMax });
    expect(weights.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThanOrEqual(weightBytesMax);
    expect(truncation).toContain("rank 1 of 4");
  }
});

test("fitting parts shares out the progress; a model that cannot be part of a graph is refused", async () => {
  const shares: number[] = [];
  const method = (fits: object): Method => ({
    name: "fake",
    grid: () => [{}],
    cost: () => ({ seconds: 1, memoryMb: 1 }),
    fit: async (_data, _params, context) => {
      context.progress(0.5, "half");
      return fits as ReturnType<typeof modelOf>;
    },
  });
  const context = { ...fitContext(), progress: (share: number) => shares.push(share) };
  const good = { method: method(modelOf([1, 2, 3, 4])), params: {}, share: 1 };
  expect(await fitParts(trainingData(2, [[0, 1]]), [good, good], context)).toHaveLength(2);
  expect(shares).toEqual([0.25, 0.75]);
  const bad = { method: method({}), params: {}, share: 1 };
  await expect(fitParts(trainingData(2, [[0, 1]]), [bad], context)).rejects.toThrow("fake cannot be part of a blend");
});
