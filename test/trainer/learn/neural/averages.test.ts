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
