import { expect, test } from "vitest";
import { maximum } from "../../../../trainer/learn/numerics/newton.ts";

test("the peak of a paraboloid is found from anywhere", () => {
  const curvature = [
    [4, 1],
    [1, 3],
  ];
  const peak = [2, -1];
  const at = (point: readonly number[]) => {
    const away = point.map((value, i) => value - peak[i]!);
    const slopes = curvature.map((row) => -row.reduce((sum, value, i) => sum + value * away[i]!, 0));
    return { value: slopes.reduce((sum, slope, i) => sum + (slope * away[i]!) / 2, 0), gradient: slopes, curvature };
  };
  for (const start of [peak, [0, 0], [1e4, -1e5]])
    for (const [i, value] of maximum(at, start).entries()) expect(value).toBeCloseTo(peak[i]!, 3);
});

test("where whole steps would diverge, halved ones find the peak", () => {
  // −ln cosh x: from 2 on, whole steps jump to the other side, and further away each time.
  const at = ([x = 0]: readonly number[]) => ({
    value: -Math.log(Math.cosh(x)),
    gradient: [-Math.tanh(x)],
    curvature: [[Math.cosh(x) ** -2]],
  });
  expect(maximum(at, [2])[0]).toBeCloseTo(0, 3);
});
