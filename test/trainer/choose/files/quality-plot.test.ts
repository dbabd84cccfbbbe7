import { expect, test } from "vitest";
import {
  escaped,
  type PlotPoint,
  qualityPlot,
  rounded,
  svgText,
} from "../../../../trainer/choose/files/quality-plot.ts";

const points: PlotPoint[] = [
  { name: "popularity", fitSeconds: 0, value: 0.02, isChosen: false },
  { name: "ease", fitSeconds: 1, value: 0.2, isChosen: false },
  { name: "blend <of two>", fitSeconds: 100, value: 0.21, isChosen: true },
];
const svg = qualityPlot(points, { title: "Quality & time", metric: "ndcg@10" });
const circles = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)" .*?fill="(.*?)"\/>/g)].map((found) => ({
  x: Number(found[1]),
  y: Number(found[2]),
  fill: found[3],
}));

test("each model is a dot, right of what is faster, above what is worse; the chosen one is filled", () => {
  expect(circles.length).toBe(3);
  const [popular, ease, blend] = circles;
  expect([popular!.x < ease!.x, ease!.x < blend!.x]).toEqual([true, true]);
  expect([popular!.y > ease!.y, ease!.y > blend!.y]).toEqual([true, true]);
  expect(circles.map(({ fill }) => fill !== "#fff")).toEqual([false, false, true]);
});
test("equal ratios of seconds are equal distances: 0.01 to 1 as 1 to 100", () =>
  expect(circles[1]!.x - circles[0]!.x).toBeCloseTo(circles[2]!.x - circles[1]!.x, 0));
test("names cannot break the picture", () => {
  expect(svg).toContain("blend &lt;of two&gt;");
  expect(svg).toContain("Quality &amp; time");
});
test("names of equal models do not overlap", () => {
  const twins = qualityPlot([points[1]!, { ...points[1]!, name: "other" }], { title: "", metric: "" });
  const heights = [...twins.matchAll(/y="([\d.]+)" fill="#2a5db0">/g)].map((found) => Number(found[1]));
  expect(Math.abs(heights[0]! - heights[1]!)).toBeGreaterThanOrEqual(14);
});
test("no model is an empty picture, not a fault", () =>
  expect(qualityPlot([], { title: "nothing", metric: "ndcg@10" })).toContain("</svg>"));
test("a name stands beside its dot when nothing else is near, whatever is at the same height far away", () => {
  const far = [0.02, 1, 50].map((fitSeconds, i): PlotPoint => ({ ...points[1]!, name: `far${i}`, fitSeconds }));
  const drawn = qualityPlot(far, { title: "", metric: "" });
  const labels = [...drawn.matchAll(/y="([\d.]+)" fill="#2a5db0">/g)].map((found) => Number(found[1]));
  const dots = [...drawn.matchAll(/<circle cx="[\d.]+" cy="([\d.]+)"/g)].map((found) => Number(found[1]));
  for (const [i, height] of labels.entries()) expect(height).toBeCloseTo(dots[i]! + 4, 1);
});

test("a text at its place, nothing in it read as SVG", () => {
  expect(svgText(1.26, -2, "a < b & c > d", 'fill="#333"')).toBe(
    '<text x="1.3" y="-2" fill="#333">a &lt; b &amp; c &gt; d</text>',
  );
  expect(escaped("&lt;")).toBe("&amp;lt;");
  expect([0, 0.04, 0.05, 12.3456].map(rounded)).toEqual([0, 0, 0.1, 12.3]);
});
