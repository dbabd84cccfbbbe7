import type { EvaluationReport } from "../client/shortlist.ts";
import { metric } from "./figures.ts";

type Mean = EvaluationReport["chosen"]["metrics"][string];
type IntervalProps = {
  readonly mean: Mean;
  readonly most: number;
  readonly show?: (value: number | null) => string;
};

const WIDTH = 120;

/** A mean as a number, and its 95 % interval as a line whose whole width is `most`. */
export function Interval({ mean: { value, low, high }, most, show = metric }: IntervalProps) {
  if (value === null) return <>–</>;
  const at = (x: number | null) => Math.max(0, Math.min(1, (x ?? value) / (most || 1))) * (WIDTH - 8) + 4;
  return (
    <span class="interval">
      <span>{show(value)}</span>
      <svg width={WIDTH} height="12" role="img" aria-label={`95 % interval ${show(low)} to ${show(high)}`}>
        <title>{`${show(low)} to ${show(high)}`}</title>
        <line class="track" x1="4" x2={WIDTH - 4} y1="6" y2="6" />
        <line class="range" x1={at(low)} x2={at(high)} y1="6" y2="6" />
        <circle cx={at(value)} cy="6" r="3.5" />
      </svg>
    </span>
  );
}
