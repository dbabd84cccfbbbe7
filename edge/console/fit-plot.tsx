import type { Candidate } from "./figures.ts";
import { Plot } from "./plot.tsx";

/** Quality against fitting time. The table above it has the same numbers as text. */
export function FitPlot({ candidates, by }: { candidates: readonly Candidate[]; by: string }) {
  const shown = candidates.filter(({ fit_seconds, metrics }) => (fit_seconds ?? 0) > 0 && metrics[by]?.value != null);
  if (shown.length < 2) return null;
  const load = async () => {
    const { pointsPlot } = await import("./points-plot.ts");
    return pointsPlot(pointsOf(shown, by), { x: { label: "seconds to fit", distr: 3 }, y: by.toUpperCase() });
  };
  return (
    <Plot
      caption="Quality against fitting time. Up is better, left is cheaper; the chosen candidate is filled."
      load={load}
      inputs={[candidates, by]}
    />
  );
}

function pointsOf(candidates: readonly Candidate[], by: string) {
  return candidates
    .map(({ method, fit_seconds, metrics, outcome }) => ({
      x: fit_seconds!,
      y: metrics[by]!.value!,
      name: method,
      isFilled: outcome === "chosen",
    }))
    .sort((a, b) => a.x - b.x);
}
