import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { coloursIn, DASHES, Legend } from "./legend.tsx";

const HEIGHT = 200;

/** `total` stands for the whole hour. */
export type MinutesLine = { readonly name: string; readonly total: string; readonly values: (number | null)[] };

/** At most six lines over the minutes of an hour. The page has the same numbers as a table. */
export function MinutesPlot({ times, lines }: { times: readonly string[]; lines: readonly MinutesLine[] }) {
  const place = useRef<HTMLDivElement>(null);
  const legend = useRef<HTMLUListElement>(null);
  const hasFailed = useSignal(false);
  useEffect(() => {
    let plot: { destroy(): void } | undefined;
    let isGone = false;
    const draw = async () => {
      const { drawLines } = await import("./lines-plot.ts");
      if (isGone || place.current === null) return;
      const colours = coloursIn(legend.current!);
      const shown = lines.map(({ values }, at) => ({ values, dash: DASHES[at]!, colour: colours[at]! }));
      plot?.destroy();
      const seconds = times.map((time) => Date.parse(time) / 1000);
      plot = drawLines(place.current, seconds, { lines: shown, height: HEIGHT });
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
  }, [times, lines]);
  return (
    <>
      <Legend lines={lines} list={legend} />
      <div ref={place} class="plot" aria-hidden="true" style={{ minHeight: `${HEIGHT}px` }} />
      {hasFailed.value && <p class="quiet">The plot could not be loaded.</p>}
    </>
  );
}
