/** Lifts with their intervals over time by uPlot. Only pages that show them load this file. */
import uPlot from "uplot";
import { change } from "./experiment-spec.ts";
import { clock } from "./figures.ts";
import type { Draw } from "./plot.tsx";
import { axisOf, coloursOf } from "./plot-colours.ts";

type Lift = { readonly value: number; readonly low: number; readonly high: number } | null;
export type LiftLine = { readonly colour: string; readonly dash: readonly number[]; readonly lifts: readonly Lift[] };

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400]; // seconds
const TICKS = [MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 6 * HOUR, DAY, 2 * DAY, 7 * DAY, 28 * DAY];
const RANGE_MIN = 0.05;
const SHORT = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });

/** @param times Seconds since 1970, one for each lift of a line. */
export const liftPlot =
  (times: readonly number[], lines: readonly LiftLine[]): Draw =>
  (place, height) => {
    const colours = coloursOf(place);
    const axis = axisOf(colours);
    const isLong = times.at(-1)! - times[0]! > 2 * DAY;
    const most = rangeOf(lines);
    const bands: uPlot.Band[] = [];
    const data: uPlot.AlignedData = [[...times], times.map(() => 0)];
    const series: uPlot.Series[] = [{}, { stroke: colours.ink, width: 1, points: { show: false } }];
    for (const { colour, dash, lifts } of lines) {
      const first = series.length;
      const edge = { stroke: colour, width: 0.5, points: { show: false } };
      series.push({ stroke: colour, width: 2, dash: [...dash], points: { show: lifts.length < 3 } }, edge, edge);
      for (const part of ["value", "high", "low"] as const) data.push(lifts.map((lift) => lift?.[part] ?? null));
      bands.push({ series: [first + 1, first + 2], fill: withOpacity(colour) });
    }
    const options: uPlot.Options = {
      width: place.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: [-Math.min(1, most), most] } },
      axes: [
        {
          ...axis,
          incrs: TICKS,
          values: (_, at) => at.map((second) => (isLong ? SHORT.format(1000 * second) : clock(1000 * second))),
        },
        { ...axis, size: 80, values: (_, at) => at.map(change) },
      ],
      series,
      bands,
    };
    return new uPlot(options, data, place);
  };

/** Intervals of the first users are so wide that the later ones would be a line, so the newest intervals set the range. */
function rangeOf(lines: readonly LiftLine[]): number {
  const newest = lines.flatMap(({ lifts }) => lifts.at(-1) ?? []);
  return 1.5 * Math.max(RANGE_MIN, ...newest.map(({ low, high }) => Math.max(-low, high)));
}

/** A computed colour, such as `rgb(10, 91, 184)`, nearly transparent. */
const withOpacity = (colour: string): string => colour.replace(/^rgb\((.*)\)$/, "rgba($1, 0.15)");
