import { expect, test } from "vitest";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { sequenceBatch } from "../../../../trainer/learn/neural/batches.ts";
import { candidateSource } from "../../../../trainer/learn/neural/candidates.ts";
import { compileSasrecStep, openSasrecScorer } from "../../../../trainer/learn/neural/sasrec-graph.ts";
import { freshParameters } from "../../../../trainer/learn/neural/sasrec-parameters.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { sasrecScores } from "../../../fixtures/reference-networks.ts";

const SHAPE = { itemCount: 12, length: 6, width: 8, blocks: 2, heads: 2 };

/** Parameters that are not 0, so that every one matters. */
function livelyParameters(shape = SHAPE) {
  const { random } = fitContext(5);
  const parameters = freshParameters(shape, random);
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

test("the loss is the mean of −log softmax of the scores of the plain loops", async () => {
  const parameters = livelyParameters();
  const step = await compileSasrecStep(SHAPE, { parameters });
  const losses = WINDOWS.flatMap(({ first, size }) =>
    Array.from({ length: size }, (_, i) => {
      const scores = sasrecScores(SHAPE, parameters, [...ENTRIES.subarray(first, first + i + 1)]);
      const total = Math.log(scores.reduce((sum, score) => sum + Math.exp(score), 0));
      return total - scores[ENTRIES[first + i + 1]!]!;
    }),
  );
  const mean = losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
  expect((await step.run(BATCH)) / mean).toBeCloseTo(1, 5);
  await step.release();
});

test("all items as candidates give the loss and the gradients of the whole catalog", async () => {
  const [whole, drawn] = [livelyParameters(), livelyParameters()];
  const everything = () => ({
    indices: Int32Array.from({ length: 12 }, (_, i) => 11 - i),
    targetPlaces: BATCH.targets.map((target) => 11 - target),
    correction: new Float32Array(12),
  });
  const one = await compileSasrecStep(SHAPE, { parameters: whole });
  const other = await compileSasrecStep(SHAPE, { parameters: drawn, candidates: everything });
  expect(await other.run(BATCH)).toBeCloseTo(await one.run(BATCH), 5);
  for (const [name, { gradient }] of whole) {
    for (const [i, slope] of drawn.get(name)!.gradient.entries()) expect(slope).toBeCloseTo(gradient[i]!, 4);
  }
  await Promise.all([one.release(), other.release()]);
});

test("with drawn candidates the loss is close to that of the whole catalog", async () => {
  const targetCounts = new Float64Array(12);
  for (const target of BATCH.targets) targetCounts[target]!++;
  const candidates = candidateSource({ targetCounts, drawnCount: 8, random: fitContext().random });
  const full = await compileSasrecStep(SHAPE, { parameters: livelyParameters() });
  const sampled = await compileSasrecStep(SHAPE, { parameters: livelyParameters(), candidates });
  let mean = 0;
  for (let i = 0; i < 50; i++) mean += (await sampled.run(BATCH)) / 50;
  expect(mean / (await full.run(BATCH))).toBeCloseTo(1, 0);
  await Promise.all([full.release(), sampled.release()]);
});

test("dropout changes the loss from step to step", async () => {
  const { random } = fitContext();
  const dropoutMask = (size: number) => Float32Array.from({ length: size }, () => (random() < 0.5 ? 0 : 2));
  const step = await compileSasrecStep(SHAPE, { parameters: livelyParameters(), dropoutMask });
  expect(await step.run(BATCH)).not.toBe(await step.run(BATCH));
  await step.release();
});
