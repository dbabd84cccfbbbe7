import { beforeEach, expect, test } from "vitest";
import type { FitContext } from "../../../../trainer/learn/model.ts";
import {
  averagingIntervalOf,
  learningRateAt,
  type Trainee,
  type TrainingPlan,
  trainEpochs,
} from "../../../../trainer/learn/neural/training.ts";
import { parameter } from "../../../../trainer/learn/numerics/autodiff/parameters.ts";
import { fitContext as plainContext } from "../../../fixtures/fit-context.ts";

/** A clock that only `advance` moves. */
let nowMs = 0;
const advance = (ms: number) => {
  nowMs += ms;
};
beforeEach(() => {
  nowMs = 0;
});
const fitContext = (): FitContext => ({ ...plainContext(), clock: () => nowMs / 1000 });

const PLAN: TrainingPlan = {
  epochs: 20,
  learningRate: 0.1,
  warmupSteps: 5,
  averagedSteps: 5,
  patience: 20,
};

/** Learns one number, 3, by the gradient of (w − 3)² / 2; every epoch has ten steps. */
function trainee(ndcgOf: (epoch: number, weight: number) => number | undefined, onStep: () => void = () => {}) {
  const weight = parameter([1], () => 0);
  let epochs = 0;
  const learner: Trainee<number> = {
    parameters: new Map([["w", weight]]),
    stepsPerEpoch: 10,
    epoch: () => Array.from({ length: 10 }, (_, i) => i),
    step: async () => {
      onStep();
      weight.gradient[0] = weight.value[0]! - 3;
      return (weight.value[0]! - 3) ** 2 / 2;
    },
    evaluate: async (averages) => ndcgOf(++epochs, averages.get("w")!.value[0]!),
  };
  return learner;
}

const run = (learner: Trainee<number>, context: FitContext = fitContext(), plan = PLAN) =>
  trainEpochs(learner, plan, context);

test("without held-out entries the last averages are the outcome", async () => {
  const { averages, epochs } = await run(trainee(() => undefined));
  expect(epochs).toBe(20);
  expect(averages.get("w")!.value[0]).toBeCloseTo(3, 1);
});

test("training stops when the NDCG no longer rises, and its outcome is the best epoch", async () => {
  const evaluated: number[] = [];
  const { averages, epochs, ndcg } = await run(
    trainee((epoch, weight) => {
      evaluated.push(weight);
      return epoch <= 3 ? epoch : 0;
    }),
    fitContext(),
    { ...PLAN, patience: 4 },
  );
  expect([epochs, ndcg, evaluated.length]).toEqual([3, 3, 7]);
  expect(averages.get("w")!.value[0]).toBe(evaluated[2]);
});

test("within the tolerance a later epoch counts as better, but never far below the highest NDCG", async () => {
  const ndcgs = [1, 0.95, 0.92, 0.88, 0.85];
  const { epochs, ndcg } = await run(
    trainee((epoch) => ndcgs[epoch - 1] ?? 0.8),
    fitContext(),
    { ...PLAN, patience: 4, tolerance: 0.1 },
  );
  expect([epochs, ndcg]).toEqual([3, 0.92]);
});

test("training ends with the time budget, on what it has learnt by then", async () => {
  const context = { ...fitContext(), secondsMax: 0.05 };
  const { averages, epochs } = await run(
    trainee(
      () => undefined,
      () => advance(5),
    ),
    context,
  );
  expect(epochs).toBeLessThan(20);
  expect(averages.get("w")!.value[0]).toBeGreaterThan(0);
});

test("an abort ends training within an epoch, with the reason", async () => {
  const controller = new AbortController();
  let steps = 0;
  const learner = trainee(
    () => undefined,
    () => {
      if (++steps === 13) controller.abort(new Error("enough"));
    },
  );
  await expect(run(learner, { ...fitContext(), signal: controller.signal })).rejects.toThrow("enough");
  expect(steps).toBe(13);
});

test("a slow machine does not change the outcome while time suffices", async () => {
  const calm = await run(trainee(() => undefined));
  let steps = 0;
  const slow = trainee(
    () => undefined,
    () => advance(steps++ < 3 ? 150 : steps % 7),
  );
  // The first three of 200 steps take .45 s, and six seconds suffice for all.
  const context = { ...fitContext(), secondsMax: 6 };
  expect((await run(slow, context)).averages).toEqual(calm.averages);
});

test("with half the time the learning rate still falls to its last value", async () => {
  const fractions: number[] = [];
  const learner = trainee(
    () => undefined,
    () => advance(4),
  );
  const progress = (fraction: number) => void fractions.push(fraction);
  const { epochs } = await run(learner, { ...fitContext(), secondsMax: 0.4, progress });
  expect(epochs).toBeLessThan(15);
  expect(fractions.at(-1)).toBeGreaterThan(0.85);
});

test("progress rises to the end and names the time that is left", async () => {
  const fractions: number[] = [];
  const details = new Set<string>();
  const progress = (fraction: number, detail: string) => {
    fractions.push(fraction);
    details.add(detail);
  };
  await run(
    trainee((epoch) => epoch),
    { ...fitContext(), progress },
  );
  expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
  expect(fractions.at(-1)).toBeGreaterThan(0.9);
  expect([...details].some((detail) => /epoch 3 of 20, NDCG 2\.0000, at most \d+ s left/.test(detail))).toBe(true);
});

test("the learning rate rises in the warm-up and falls to a fiftieth", () => {
  const all = { planned: 200, stepsWanted: 200 };
  expect(learningRateAt(PLAN, 0, all)).toBeCloseTo(0.02, 6);
  expect(learningRateAt(PLAN, 5, { planned: 1e6, stepsWanted: 1e6 })).toBeCloseTo(0.1, 6);
  expect(learningRateAt(PLAN, 100, all)).toBeCloseTo(0.051, 6);
  expect(learningRateAt(PLAN, 200, all)).toBeCloseTo(0.002, 6);
});

test("fewer steps have a higher learning rate, up to the plan's limit", () => {
  const rateOf = (planned: number, plan: TrainingPlan) =>
    learningRateAt(plan, planned / 2, { planned, stepsWanted: 200 }) /
    learningRateAt(PLAN, 100, { planned: 200, stepsWanted: 200 });
  expect(rateOf(100, PLAN)).toBeCloseTo(1, 6);
  expect(rateOf(100, { ...PLAN, learningRateMax: 1 })).toBeCloseTo(2, 6);
  expect(rateOf(20, { ...PLAN, learningRateMax: 0.3 })).toBeCloseTo(3, 6);
});

test("large networks are averaged less often, but at least ten times in the steps that averages cover", () => {
  const intervals = [
    [1e5, 20],
    [8e5, 800],
    [1.6e6, 260],
    [1.6e6, 50],
    [1e9, 1e6],
  ].map(([count, averagedSteps]) => averagingIntervalOf(count!, { averagedSteps: averagedSteps! }));
  expect(intervals).toEqual([1, 4, 8, 5, 20]);
});
