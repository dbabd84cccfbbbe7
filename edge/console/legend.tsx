import type { Ref } from "preact";

/** Lines differ in colour and in their dashes. The style sheet has a colour for each. */
export const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [1, 4]];
export const LINES_MAX = DASHES.length;

type LegendProps = {
  readonly lines: readonly { readonly name: string; readonly total: string }[];
  readonly list: Ref<HTMLUListElement>;
};

/** The names of a plot's lines beside samples of them. */
export const Legend = ({ lines, list }: LegendProps) => (
  <ul class="legend" ref={list}>
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
);

/** The colours of the samples, as a canvas takes them. */
export const coloursIn = (list: HTMLUListElement): string[] =>
  [...list.querySelectorAll("svg")].map((sample) => getComputedStyle(sample).color);
