import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

const HEIGHT = 260;

/** Draws into a place of a given height. */
export type Draw = (place: HTMLElement, height: number) => { destroy(): void };

type PlotProps = {
  readonly caption: ComponentChildren;
  /** Loads the code that draws. */
  readonly load: () => Promise<Draw>;
  /** What is drawn. The plot is drawn again when any of it changes. */
  readonly inputs: readonly unknown[];
  readonly height?: number;
};

/** A plot, loaded when it is shown, and drawn again when its width or the colours change. Its numbers must be on the page as text too. */
export function Plot({ caption, load, inputs, height = HEIGHT }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const hasFailed = useSignal(false);
  useEffect(() => {
    let plot: { destroy(): void } | undefined;
    let isGone = false;
    const draw = async () => {
      const drawIn = await load();
      if (isGone || place.current === null) return;
      plot?.destroy();
      plot = drawIn(place.current, height);
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
  }, [...inputs]);
  return (
    <figure>
      <figcaption>{caption}</figcaption>
      <div ref={place} class="plot" aria-hidden="true" style={{ minHeight: `${height}px` }} />
      {hasFailed.value && <p class="quiet">The plot could not be loaded.</p>}
    </figure>
  );
}
