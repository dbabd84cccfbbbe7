import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

const HEIGHT = 200;
/** Lines differ in colour and in their dashes. The style sheet has a colour for each. */
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [1, 4]];
export const LINES_MAX = DASHES.length;

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
      const samples = [...legend.current!.querySelectorAll("svg")];
      const shown = lines.map(({ values }, at) => ({
        values,
        dash: DASHES[at]!,
        colour: getComputedStyle(samples[at]!).color,
      }));
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
      <ul class="legend" ref={legend}>
        {lines.map(({ name, total }, at) => (
          <li key={name}>
            <svg class={`line-${at}`} width="28" height="10" aria-hidden="true">
              <line
                x1="0"
                x2="28"
                y1="5"
                y2="5"
                stroke="currentColor"
                stroke-width="2"
                stroke-dasharray={DASHES[at]!.join(" ")}
              />
            </svg>
            {name} <b>{total}</b>
          </li>
        ))}
      </ul>
      <div ref={place} class="plot" aria-hidden="true" style={{ minHeight: HEIGHT }} />
      {hasFailed.value && <p class="quiet">The plot could not be loaded.</p>}
    </>
  );
}
