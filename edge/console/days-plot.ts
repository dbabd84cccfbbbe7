/** Bars by uPlot, one for each day. Only pages that show it load this file. */
import uPlot from "uplot";
import type { Draw } from "./plot.tsx";
import { axisOf, coloursOf } from "./plot-colours.ts";

export type Day = { readonly date: string; readonly count: number };

const SHORT = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" });

export const daysPlot =
  (days: readonly Day[]): Draw =>
  (place, height) => {
    const colours = coloursOf(place);
    const axis = axisOf(colours);
    const seconds = days.map(({ date }) => Date.parse(date) / 1000);
    const halfDay = 43_200;
    const options: uPlot.Options = {
      width: place.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { time: false, range: [seconds[0]! - halfDay, seconds.at(-1)! + halfDay] },
        y: { range: [0, Math.max(1, ...days.map(({ count }) => count)) * 1.05] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 60,
          incrs: [1, 2, 7, 14, 28].map((many) => many * 2 * halfDay),
          values: (_, at) => at.map((second) => SHORT.format(second * 1000)),
        },
        { ...axis, size: 60 },
      ],
      series: [{}, { fill: colours.accent, paths: uPlot.paths.bars!({ size: [0.8, 24] }), points: { show: false } }],
    };
    return new uPlot(options, [seconds, days.map(({ count }) => count)], place);
  };
