/** A scatter plot by uPlot. Only pages that show it load this file. */
import uPlot from "uplot";

export type Point = { readonly x: number; readonly y: number; readonly name: string; readonly isFilled: boolean };

const RADIUS = 5;

/** @param points By x, which is on a logarithmic scale. */
export function drawPoints(place: HTMLElement, points: readonly Point[], { height, y }: { height: number; y: string }) {
  // A canvas takes computed colours only.
  const { color: ink, borderTopColor: line, outlineColor: accent } = getComputedStyle(place);
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const drawNamed = (plot: uPlot) => {
    const { ctx } = plot;
    const pixels = devicePixelRatio;
    ctx.save();
    ctx.font = `${12 * pixels}px system-ui, sans-serif`;
    const named = new Set<string>();
    for (const point of points.toSorted((a, b) => b.y - a.y)) {
      const [left, top] = [plot.valToPos(point.x, "x", true), plot.valToPos(point.y, "y", true)];
      ctx.beginPath();
      ctx.arc(left, top, RADIUS * pixels, 0, 2 * Math.PI);
      ctx.strokeStyle = ctx.fillStyle = accent;
      ctx.lineWidth = 1.5 * pixels;
      if (point.isFilled) ctx.fill();
      else ctx.stroke();
      if (named.has(point.name)) continue; // the best of each method has its name
      named.add(point.name);
      ctx.fillStyle = ink;
      const isRight = left > plot.bbox.left + 0.7 * plot.bbox.width;
      ctx.textAlign = isRight ? "right" : "left";
      ctx.fillText(point.name, left + (isRight ? -9 : 9) * pixels, top + 4 * pixels);
    }
    ctx.restore();
  };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, distr: 3 }, y: { range: (_, low, high) => [Math.min(0, low), high * 1.1] } },
    axes: [
      { ...axis, label: "seconds to fit", grid: { show: false } },
      { ...axis, label: y, size: 60 },
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: { draw: [drawNamed] },
  };
  return new uPlot(options, [points.map((point) => point.x), points.map((point) => point.y)], place);
}
