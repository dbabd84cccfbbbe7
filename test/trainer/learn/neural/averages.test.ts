import { expect, test } from "vitest";
import { averagesOf, follow } from "../../../../trainer/learn/neural/averages.ts";
import { parameter } from "../../../../trainer/learn/numerics/autodiff/parameters.ts";

test("averages are copies", () => {
  const weights = parameter([2], () => 1);
  const averages = averagesOf(new Map([["w", weights]]));
  weights.value[0] = 5;
  expect([...averages.get("w")!.value]).toEqual([1, 1]);
});

test("after many steps an average moves by 1 / steps of the difference", () => {
  const parameters = new Map([["w", parameter([1], () => 0)]]);
  const averages = averagesOf(parameters);
  parameters.get("w")!.value[0] = 10;
  follow(averages, parameters, { steps: 100, step: 1_000_000 });
  expect(averages.get("w")!.value[0]).toBeCloseTo(0.1, 6);
});

test("the averages follow the first steps closely", () => {
  const parameters = new Map([["w", parameter([1], () => 0)]]);
  const averages = averagesOf(parameters);
  parameters.get("w")!.value[0] = 10;
  follow(averages, parameters, { steps: 100, step: 0 });
  expect(averages.get("w")!.value[0]).toBeCloseTo(9, 6);
});

test("an update that stands for several steps moves as far as those steps", () => {
  const movedBy = (updates: readonly { step: number; interval?: number }[]) => {
    const parameters = new Map([["w", parameter([1], () => 0)]]);
    const averages = averagesOf(parameters);
    parameters.get("w")!.value[0] = 10;
    for (const update of updates) follow(averages, parameters, { steps: 50, ...update });
    return averages.get("w")!.value[0]!;
  };
  const late = 1_000_000;
  const singly = Array.from({ length: 8 }, (_, i) => ({ step: late + i }));
  expect(movedBy([{ step: late, interval: 8 }])).toBeCloseTo(movedBy(singly), 5);
});
