/** A scatter plot by uPlot. Only pages that show it load this file. */
import uPlot from "uplot";
import type { Draw } from "./plot.tsx";
import { axisOf, coloursOf } from "./plot-colours.ts";

export type Point = {
  readonly x: number;
  readonly y: number;
  /** The ends of an interval around `y`, drawn as a line. */
  readonly low?: number;
  readonly high?: number;
  /** Written beside the highest point of this name, unless it is empty. */
  readonly name: string;
  readonly isFilled: boolean;
  /** Drawn small and without colour: something to compare with. */
  readonly isQuiet?: boolean;
};

type Axes = {
  /** `distr` 3: logarithmic. `values` writes the numbers of the axis; the others are left out. */
  readonly x: { readonly label: string; readonly distr?: 1 | 3; readonly values?: (x: number) => string };
  readonly y: string;
};

const RADIUS = 5;

/** @param points By x. */
export const pointsPlot =
  (points: readonly Point[], { x, y }: Axes): Draw =>
  (place, height) => {
    const colours = coloursOf(place);
    const axis = axisOf(colours);
    const { values } = x;
    const tops = points.flatMap((point) => [point.low ?? point.y, point.high ?? point.y]);
    const options: uPlot.Options = {
      width: place.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, distr: x.distr ?? 1, ...(values && { range: (_, low, high) => [low - 0.5, high + 0.5] }) },
        y: { range: [Math.min(0, ...tops), Math.max(...tops) * 1.1] },
      },
      axes: [
        {
          ...axis,
          label: x.label,
          grid: { show: false },
          ...(values && {
            space: 70,
            incrs: [1, 2, 5, 10, 20, 50],
            values: (_: uPlot, at: number[]) => at.map(values),
          }),
        },
        { ...axis, label: y, size: 60 },
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: { draw: [(plot) => drawNamed(plot, points, colours)] },
    };
    return new uPlot(options, [points.map((point) => point.x), points.map((point) => point.y)], place);
  };

function drawNamed(plot: uPlot, points: readonly Point[], { ink, accent, paper }: ReturnType<typeof coloursOf>): void {
  const { ctx } = plot;
  const pixels = devicePixelRatio;
  ctx.save();
  ctx.font = `${12 * pixels}px system-ui, sans-serif`;
  ctx.lineWidth = 1.5 * pixels;
  const named = new Set<string>();
  for (const point of points.toSorted((a, b) => b.y - a.y)) {
    const [left, top] = [plot.valToPos(point.x, "x", true), plot.valToPos(point.y, "y", true)];
    ctx.strokeStyle = point.isQuiet ? ink : accent;
    if (point.low !== undefined && point.high !== undefined) {
      ctx.beginPath();
      ctx.moveTo(left, plot.valToPos(point.low, "y", true));
      ctx.lineTo(left, plot.valToPos(point.high, "y", true));
      ctx.stroke();
    }
    ctx.beginPath();
    ctx.arc(left, top, (point.isQuiet ? RADIUS / 2 : RADIUS) * pixels, 0, 2 * Math.PI);
    ctx.fillStyle = point.isFilled ? accent : paper;
    ctx.fill();
    ctx.stroke();
    if (named.has(point.name)) continue;
    named.add(point.name);
    ctx.fillStyle = ink;
    const isRight = left > plot.bbox.left + 0.7 * plot.bbox.width;
    ctx.textAlign = isRight ? "right" : "left";
    const below = point.isQuiet ? 16 : 4; // quiet points stand beside each other
    ctx.fillText(point.name, left + (isRight ? -9 : 9) * pixels, top + below * pixels);
  }
  ctx.restore();
}
