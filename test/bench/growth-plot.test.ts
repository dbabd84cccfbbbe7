import { expect, test } from "vitest";
import { growthPlot, linearAxis } from "./growth-plot.ts";

const text = { title: "a < b", sizes: "items", unit: "ms" };
const series = [
  { name: "one", points: [10, 100, 1000].map((size) => ({ size, value: size / 10 })) },
  {
    name: "two",
    points: [
      { size: 100, value: 50 },
      { size: 1000, value: 99 },
    ],
  },
  { name: "none", points: [] },
];
const numbers = (pattern: RegExp) => [...growthPlot(series, text).matchAll(pattern)].map(([, value]) => value!);

test("what grows as the sizes do is a straight line from corner to corner", () => {
  const [line] = numbers(/points="([^"]+)"/g);
  expect(line).toBe("64,368 297,208 530,48");
});
test("lines that end at the same place have labels below each other; a line without points has none", () => {
  expect(growthPlot(series, text)).not.toContain(">none<");
  const heights = ["one", "two"].map((name) => Number(numbers(new RegExp(`y="([0-9.]+)"[^>]*>${name}<`, "g"))[0]));
  expect(Math.abs(heights[0]! - heights[1]!)).toBeGreaterThanOrEqual(15);
});
test("a linear axis begins and ends at twentieths", () => {
  const { at, ticks } = linearAxis([0.87, 1], [100, 0]);
  expect(ticks).toEqual([0.85, 0.9, 0.95, 1]);
  expect([0.85, 0.925, 1].map(at)).toEqual([100, 50, 0].map((one) => expect.closeTo(one, 9)));
});
test("words are escaped", () => expect(growthPlot(series, text)).toContain("a &lt; b"));
