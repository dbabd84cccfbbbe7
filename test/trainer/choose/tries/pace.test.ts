import { expect, test } from "vitest";
import { secondsPerList } from "../../../../trainer/choose/evaluate/evaluate.ts";
import { paceFor, predictedSeconds, predictedSecondsOfAll } from "../../../../trainer/choose/tries/pace.ts";
import type { Trial } from "../../../../trainer/choose/tries/trial.ts";
import type { Method, TrainingData } from "../../../../trainer/learn/model.ts";

const data = { itemCount: 1000 } as TrainingData;
const method = (name: string, more: Partial<Method> = {}) =>
  ({
    name,
    cost: (_: TrainingData, { lambda }: { lambda: number }) => ({ seconds: lambda, memoryMb: 1 }),
    ...more,
  }) as Method;
const [one, other, network] = [method("one"), method("other"), method("network", { fillsItsTime: true })];
/** Evaluated on ten lists, each `judging` times as long as predicted. */
const trial = (of: Method, predicted: number, fitSeconds: number, judging = 1) =>
  ({
    method: of,
    params: { lambda: predicted },
    fitSeconds,
    secondsPerList: judging * secondsPerList(data.itemCount),
    evaluation: { positions: new Uint32Array(10) },
  }) as unknown as Trial;

test("a list over a million items is predicted to take about 15 ms", () =>
  expect(secondsPerList(1e6)).toBeCloseTo(0.0153, 4));
test("fitting and judging are stretched, each by its own", () => {
  const options = { data, listCount: 100, pace: { fit: 3, evaluation: 2 } };
  expect(predictedSeconds(one, { lambda: 5 }, options)).toBeCloseTo(15 + 200 * secondsPerList(1000), 12);
});
test("what fits share is counted once, and not at all when it has been learnt", () => {
  const options = { data, listCount: 0, pace: { fit: 2, evaluation: 1 } };
  const grid = [{ lambda: 5 }, { lambda: 7 }];
  const sharing = (isLearnt: boolean) =>
    method("sharing", {
      cost: (_, { lambda }) => ({ seconds: lambda! + 30, memoryMb: 1, shared: { seconds: 30, isLearnt } }),
    });
  expect(predictedSecondsOfAll(sharing(false), grid, options)).toBe(2 * (5 + 7 + 30));
  expect(predictedSecondsOfAll(sharing(true), grid, options)).toBe(2 * (5 + 7));
  expect(predictedSecondsOfAll(one, grid, options)).toBe(2 * (5 + 7));
});
test("without trials as predicted", () => expect(paceFor(one, [], data)).toEqual({ fit: 1, evaluation: 1 }));
test("a method's own trials tell, in either direction", () => {
  const trials = [trial(one, 10, 40, 15), trial(one, 10, 40, 15), trial(other, 10, 2, 0.5)];
  expect(paceFor(one, trials, data)).toEqual({ fit: 4, evaluation: expect.closeTo(15, 9) });
  expect(paceFor(other, trials, data)).toEqual({ fit: 0.2, evaluation: expect.closeTo(0.5, 9) });
});
test("those of all tell for a method without, in part, and never that it is quicker than predicted", () => {
  const third = method("third");
  const trials = [trial(one, 10, 40, 3), trial(other, 10, 20, 3)];
  expect(paceFor(third, trials, data)).toEqual({ fit: 2, evaluation: expect.closeTo(3, 9) }); // 60 of 20, less the error of a prediction
  expect(paceFor(third, [trial(one, 10, 6, 0.1)], data)).toEqual({ fit: 1, evaluation: 1 });
});
test("short fits tell nothing, nor what fills its time", () => {
  expect(paceFor(one, [trial(one, 0.01, 0.9)], data).fit).toBe(1);
  expect(paceFor(one, [trial(network, 1, 100)], data).fit).toBe(1);
  expect(paceFor(network, [trial(network, 1, 100), trial(one, 10, 60)], data).fit).toBe(4);
});
test("whatever is seen, nothing takes more than twenty times as long", () =>
  expect(paceFor(one, [trial(one, 1, 1000, 1000)], data)).toEqual({ fit: 20, evaluation: 20 }));
