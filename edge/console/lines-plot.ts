/** Lines over time by uPlot. Only pages that show them load this file. */
import uPlot from "uplot";
import { clock } from "./figures.ts";

export type Line = { readonly colour: string; readonly dash: readonly number[]; readonly values: (number | null)[] };

/** @param times Seconds since 1970, one for each value of a line. */
export function drawLines(place: HTMLElement, times: number[], { lines, height }: { lines: Line[]; height: number }) {
  const { color: ink, borderTopColor: grid } = getComputedStyle(place); // a canvas takes computed colours only
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      { ...axis, values: (_, seconds) => seconds.map((second) => clock(second * 1000)) },
      { ...axis, size: 60 },
    ],
    series: [
      {},
      ...lines.map(({ colour, dash, values }) => ({
        stroke: colour,
        dash: [...dash],
        width: 2,
        points: { show: values.includes(null), size: 5, fill: colour }, // a value between two gaps has no line
      })),
    ],
  };
  return new uPlot(options, [times, ...lines.map(({ values }) => values)], place);
}
