import { expect, test } from "vitest";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { sequenceBatch } from "../../../../trainer/learn/neural/batches.ts";
import { pooledBatch } from "../../../../trainer/learn/neural/pooled-batches.ts";
import {
  compilePooledStep,
  freshPooledParameters,
  openPooledScorer,
  type PooledShape,
} from "../../../../trainer/learn/neural/pooled-graph.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { pooledScores } from "../../../fixtures/reference-networks.ts";
import { expectSameGradients } from "../numerics/autodiff/gradient-check.ts";

const SHAPE = { itemCount: 9, width: 4, length: 5, ordered: true };
const TEMPERATURE = 0.5;
const EXPONENT = 1.3;
/** Members are newest first. */
const SPLITS = [
  { members: Int32Array.of(3, 1), targets: Int32Array.of(4) },
  { members: Int32Array.of(5, 2, 8, 3), targets: Int32Array.of(0, 6, 7) },
];

function livelyParameters(shape: PooledShape) {
  const { random } = fitContext(5);
  const parameters = freshPooledParameters(shape, random);
  for (const { value } of parameters.values())
    for (let i = 0; i < value.length; i++) value[i] = value[i]! + random() / 2;
  return parameters;
}
const everything = () => ({
  indices: Int32Array.from({ length: SHAPE.itemCount }, (_, item) => item),
  correction: new Float32Array(SHAPE.itemCount),
});

test.each([true, false])(
  "the loss is the mean over targets of exponent · log Σ e^(cosine / temperature) − cosine / temperature (ordered: %s)",
  async (ordered) => {
    const shape = { ...SHAPE, ordered };
    const parameters = livelyParameters(shape);
    const step = await compilePooledStep(shape, {
      parameters,
      temperature: TEMPERATURE,
      exponent: EXPONENT,
      candidates: everything,
    });
    const losses = SPLITS.flatMap(({ members, targets }) => {
      const scores = pooledScores(shape, averagesOf(parameters), [...members].reverse());
      const total = Math.log(scores.reduce((sum, score) => sum + Math.exp(score / TEMPERATURE), 0));
      return [...targets].map((target) => EXPONENT * total - scores[target]! / TEMPERATURE);
    });
    const mean = losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
    expect((await step.run(pooledBatch(SPLITS))) / mean).toBeCloseTo(1, 5);
    await step.release();
  },
);

test("training begins with the given vectors, and with random ones for items whose vector is zero", () => {
  const vectors = Float32Array.from({ length: SHAPE.itemCount * SHAPE.width }, (_, i) => (i < SHAPE.width ? 0 : i));
  const { value } = freshPooledParameters(SHAPE, fitContext().random, { vectors }).get("item_table")!;
  expect([...value.subarray(SHAPE.width)]).toEqual([...vectors.subarray(SHAPE.width)]);
  expect(value.subarray(0, SHAPE.width).every((number) => number !== 0)).toBe(true);
});

test("the gradients are those of central differences of the loss", async () => {
  const parameters = livelyParameters(SHAPE);
  const step = await compilePooledStep(SHAPE, {
    parameters,
    temperature: TEMPERATURE,
    exponent: EXPONENT,
    candidates: everything,
  });
  const lossAt = async () => {
    for (const { gradient } of parameters.values()) gradient.fill(0);
    return step.run(pooledBatch(SPLITS));
  };
  await lossAt();
  const analytic = new Map([...parameters].map(([name, { gradient }]) => [name, gradient.slice()]));
  const h = 5e-3;
  for (const [name, { value }] of parameters) {
    for (let i = 0; i < value.length; i++) {
      const at = value[i]!;
      value[i] = at + h;
      const above = await lossAt();
      value[i] = at - h;
      const slope = (above - (await lossAt())) / (2 * h);
      value[i] = at;
      expect(Math.abs(slope - analytic.get(name)![i]!), `${name}[${i}]`).toBeLessThan(2e-3);
    }
  }
  await step.release();
});

test("padded histories in one batch get the scores of the plain loops", async () => {
  const parameters = averagesOf(livelyParameters(SHAPE));
  const entries = Int32Array.of(3, 1, 4, 1, 5, 0);
  const windows = [
    { first: 0, size: 2 },
    { first: 1, size: 4 },
  ];
  const scorer = await openPooledScorer(SHAPE);
  const scores = await scorer.score(parameters, sequenceBatch(entries, windows));
  for (const [row, { first, size }] of windows.entries()) {
    const expected = pooledScores(SHAPE, parameters, [...entries.subarray(first, first + size)]);
    for (const [item, score] of expected.entries()) {
      expect(scores[row * SHAPE.itemCount + item]).toBeCloseTo(score, 5);
    }
  }
  await scorer.release();
});

test("two threads give the loss and the gradients of one", async () => {
  const stepOf = async (threads: number) => {
    const parameters = livelyParameters(SHAPE);
    const options = { temperature: TEMPERATURE, exponent: EXPONENT, candidates: everything, threads };
    const step = await compilePooledStep(SHAPE, { parameters, ...options });
    const loss = await step.run(pooledBatch(SPLITS));
    await step.release();
    return { loss, parameters };
  };
  const [one, two] = [await stepOf(1), await stepOf(2)];
  expect(two.loss / one.loss).toBeCloseTo(1, 5);
  expectSameGradients(two.parameters, one.parameters, 1e-4);
});
