import { expect, test } from "vitest";
import { type Averages, averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { sequenceBatch } from "../../../../trainer/learn/neural/batches.ts";
import { candidateSource, wholeCatalog } from "../../../../trainer/learn/neural/candidates.ts";
import { FEATURE_TABLE, featureTable, folded, ITEM_TABLE } from "../../../../trainer/learn/neural/item-vectors.ts";
import { compileSasrecStep, openSasrecScorer } from "../../../../trainer/learn/neural/sasrec-graph.ts";
import { freshParameters } from "../../../../trainer/learn/neural/sasrec-parameters.ts";
import { adam } from "../../../../trainer/learn/numerics/autodiff/adam.ts";
import { sparseBuilder } from "../../../../trainer/learn/weights/sparse-builder.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { sasrecScores } from "../../../fixtures/reference-networks.ts";
import { expectSameGradients } from "../numerics/autodiff/gradient-check.ts";

const SHAPE = { itemCount: 12, length: 6, width: 8, blocks: 2, heads: 2 };
const EVERY_ITEM = wholeCatalog(SHAPE.itemCount);

/** Parameters that are not 0, so that every one matters. */
function livelyParameters(shape = SHAPE, featureCount = 0) {
  const { random } = fitContext(5);
  const parameters = freshParameters(shape, random, { featureCount });
  for (const { value } of parameters.values())
    for (let i = 0; i < value.length; i++) value[i] = value[i]! + random() / 2;
  return parameters;
}

/** The histories of three users; the entry after each window is its last target. */
const ENTRIES = Int32Array.of(3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5);
const WINDOWS = [
  { first: 0, size: 1 },
  { first: 2, size: 5 },
  { first: 7, size: 3 },
];
const BATCH = sequenceBatch(ENTRIES, WINDOWS);

test("padded histories in one batch get the scores of the plain loops", async () => {
  const parameters = averagesOf(livelyParameters());
  const scorer = await openSasrecScorer(SHAPE);
  const scores = await scorer.score(parameters, BATCH);
  for (const [row, { first, size }] of WINDOWS.entries()) {
    const expected = sasrecScores(SHAPE, parameters, [...ENTRIES.subarray(first, first + size)]);
    const largest = Math.max(...expected.map(Math.abs));
    for (const [item, score] of expected.entries()) {
      expect(Math.abs(scores[row * SHAPE.itemCount + item]! - score) / largest).toBeLessThan(1e-5);
    }
  }
  await scorer.release();
});

/** The mean over all cells of log Σ e^score over the target and its rivals − score of the target, by plain loops. */
function meanLoss(parameters: Averages, isRival: (item: number, window: Int32Array) => boolean): number {
  const losses = WINDOWS.flatMap(({ first, size }) =>
    Array.from({ length: size }, (_, i) => {
      const window = ENTRIES.subarray(first, first + size);
      const target = ENTRIES[first + i + 1]!;
      const scores = sasrecScores(SHAPE, parameters, [...window.subarray(0, i + 1)]);
      const competing = scores.filter((_, item) => item === target || isRival(item, window));
      return Math.log(competing.reduce((sum, score) => sum + Math.exp(score), 0)) - scores[target]!;
    }),
  );
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

test("the loss is the mean of −log softmax of the scores of the plain loops", async () => {
  const parameters = livelyParameters();
  const step = await compileSasrecStep(SHAPE, { parameters, candidates: EVERY_ITEM });
  const mean = meanLoss(averagesOf(parameters), () => true);
  expect((await step.run(BATCH)) / mean).toBeCloseTo(1, 5);
  await step.release();
});

test("where own items are spared, the sum is over the target and what the window does not have", async () => {
  const parameters = livelyParameters();
  const step = await compileSasrecStep(SHAPE, { parameters, candidates: EVERY_ITEM, sparesOwn: true });
  const mean = meanLoss(averagesOf(parameters), (item, window) => !window.includes(item));
  expect((await step.run(BATCH)) / mean).toBeCloseTo(1, 5);
  await step.release();
});

test("where no own item is drawn, all candidates compete", async () => {
  const batch = sequenceBatch(Int32Array.of(3, 1), [{ first: 0, size: 1 }]);
  const candidates = () => ({ indices: Int32Array.of(1, 2), correction: new Float32Array(2) });
  const [sparing, plain] = await Promise.all(
    [true, false].map((sparesOwn) =>
      compileSasrecStep(SHAPE, { parameters: livelyParameters(), candidates, sparesOwn }),
    ),
  );
  expect(await sparing!.run(batch)).toBe(await plain!.run(batch));
  await Promise.all([sparing!.release(), plain!.release()]);
});

/** Features of the items, 0 to 2 of 3; the last item has none. */
const FEATURES = featureTable(featureRows(SHAPE.itemCount));

function featureRows(itemCount: number) {
  const builder = sparseBuilder(itemCount, 3);
  for (let item = 0; item < itemCount; item++) {
    if (item < itemCount - 1) builder.add(item % 2, 0.6);
    if (item % 3 === 1) builder.add(2, 0.8);
    builder.endRow();
  }
  return builder.build();
}

test("with features the loss is that of the folded vectors", async () => {
  const parameters = livelyParameters(SHAPE, FEATURES.featureCount);
  const described = await compileSasrecStep(SHAPE, { parameters, candidates: EVERY_ITEM, features: FEATURES });
  const averages = folded(averagesOf(parameters), FEATURES);
  const plain = livelyParameters();
  for (const [name, { value }] of averages) plain.get(name)!.value.set(value);
  const own = await compileSasrecStep(SHAPE, { parameters: plain, candidates: EVERY_ITEM });
  const loss = await described.run(BATCH);
  expect(loss / (await own.run(BATCH))).toBeCloseTo(1, 5);
  // An item's gradient is that of its own vector, and flows to its features by their weights.
  const [item, feature] = [plain.get(ITEM_TABLE)!.gradient, parameters.get(FEATURE_TABLE)!.gradient];
  let expected = 0;
  for (let at = 1; at < SHAPE.itemCount; at += 3) expected += 0.8 * item[at * SHAPE.width]!;
  expect(feature[2 * SHAPE.width]).toBeCloseTo(expected, 4);
  await Promise.all([described.release(), own.release()]);
});

test("with drawn candidates the loss is close to that of the whole catalog", async () => {
  const targetCounts = new Float64Array(12);
  for (const target of BATCH.targets) targetCounts[target]!++;
  const candidates = candidateSource({ targetCounts, drawnCount: 8, random: fitContext().random });
  const full = await compileSasrecStep(SHAPE, { parameters: livelyParameters(), candidates: EVERY_ITEM });
  const sampled = await compileSasrecStep(SHAPE, { parameters: livelyParameters(), candidates });
  let mean = 0;
  for (let i = 0; i < 50; i++) mean += (await sampled.run(BATCH)) / 50;
  expect(mean / (await full.run(BATCH))).toBeCloseTo(1, 0);
  await Promise.all([full.release(), sampled.release()]);
});

test("dropout changes the loss from step to step", async () => {
  const { random } = fitContext();
  const dropoutMask = (size: number) => Float32Array.from({ length: size }, () => (random() < 0.5 ? 0 : 2));
  const step = await compileSasrecStep(SHAPE, { parameters: livelyParameters(), dropoutMask, candidates: EVERY_ITEM });
  expect(await step.run(BATCH)).not.toBe(await step.run(BATCH));
  await step.release();
});

test.each([2, 3])("%i threads give the loss and the gradients of one", async (threads) => {
  const targetCounts = new Float64Array(SHAPE.itemCount).fill(1);
  const stepOf = async (threads: number) => {
    const parameters = livelyParameters(SHAPE, FEATURES.featureCount);
    const candidates = candidateSource({ targetCounts, drawnCount: 4, random: fitContext(3).random });
    const options = { parameters, candidates, features: FEATURES, sparesOwn: true, threads };
    const step = await compileSasrecStep(SHAPE, options);
    const losses = [await step.run(BATCH)];
    const optimizer = adam(parameters);
    optimizer.step(0.1); // the next step reads other values
    losses.push(await step.run(BATCH));
    await step.release();
    return { losses, parameters };
  };
  const [one, several] = [await stepOf(1), await stepOf(threads)];
  for (const [i, loss] of one.losses.entries()) expect(several.losses[i]! / loss).toBeCloseTo(1, 5);
  expectSameGradients(several.parameters, one.parameters, 1e-3);
});

test("an error of one thread is that of the step", async () => {
  const outside = sequenceBatch(Int32Array.of(1, 2, 3, 99, 5, 6), [
    { first: 0, size: 1 },
    { first: 3, size: 1 },
  ]);
  const step = await compileSasrecStep(SHAPE, { parameters: livelyParameters(), candidates: EVERY_ITEM, threads: 2 });
  await expect(step.run(outside)).rejects.toThrow("Gather");
  expect(await step.run(BATCH)).toBeGreaterThan(0);
  await step.release();
});
