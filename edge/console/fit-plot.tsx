import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Candidate } from "./figures.ts";

const HEIGHT = 260;

/** Quality against fitting time. The table above it has the same numbers as text. */
export function FitPlot({ candidates, by }: { candidates: readonly Candidate[]; by: string }) {
  const place = useRef<HTMLDivElement>(null);
  const hasFailed = useSignal(false);
  const shown = candidates.filter(({ fit_seconds }) => fit_seconds !== null && fit_seconds > 0);
  useEffect(() => {
    let plot: { destroy(): void } | undefined;
    let isGone = false;
    const draw = async () => {
      const { drawPoints } = await import("./points-plot.ts");
      if (isGone || place.current === null) return;
      plot?.destroy();
      plot = drawPoints(place.current, pointsOf(shown, by), { height: HEIGHT, y: by.toUpperCase() });
    };
    const drawAgain = () => void draw().catch(() => (hasFailed.value = true));
    const resized = new ResizeObserver(drawAgain);
    resized.observe(place.current!);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", drawAgain);
    return () => {
      isGone = true;
      resized.disconnect();
      dark.removeEventListener("change", drawAgain);
      plot?.destroy();
    };
  }, [candidates, by]);
  if (shown.length < 2) return null;
  return (
    <figure>
      <figcaption>
        Quality against fitting time. Up is better, left is cheaper; the chosen candidate is filled.
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" style={{ minHeight: HEIGHT }} />
      {hasFailed.value && <p class="quiet">The plot could not be loaded.</p>}
    </figure>
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
