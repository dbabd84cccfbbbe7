/** One model of a plot. */
export type PlotPoint = {
  readonly name: string;
  readonly fitSeconds: number;
  /** The metric of the plot, not negative. */
  readonly value: number;
  readonly isChosen: boolean;
};

export type PlotText = { readonly title: string; readonly metric: string };

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 150; // room for the names of models at the right edge
const TOP = 48;
const BOTTOM = 52;
const SECONDS_MIN = 0.01; // shorter fits are drawn here, because a logarithmic axis has no 0
const LABEL_HEIGHT = 14;
const LABEL_GAP = 10; // between a dot and its label
const CHARACTER_WIDTH = 7;

/**
 * An SVG picture of quality against fitting time: seconds on a logarithmic axis, the metric from 0. Each model is a dot with its name;
 * the dot of the chosen model is filled. The picture is readable on light and dark pages.
 */
export function qualityPlot(points: readonly PlotPoint[], { title, metric }: PlotText): string {
  const seconds = points.map(({ fitSeconds }) => Math.max(SECONDS_MIN, fitSeconds));
  const first = Math.floor(Math.log10(Math.min(1, ...seconds)));
  const last = Math.ceil(Math.log10(Math.max(10, ...seconds)));
  const step = niceStep(Math.max(1e-9, ...points.map(({ value }) => value)) / 5);
  const top = step * Math.ceil(Math.max(step, ...points.map(({ value }) => value)) / step);
  const x = (value: number) => LEFT + ((Math.log10(value) - first) / (last - first)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const secondsTick = (power: number) =>
    line({ x1: x(10 ** power), x2: x(10 ** power), y1: TOP, y2: HEIGHT - BOTTOM }) +
    svgText(x(10 ** power), HEIGHT - BOTTOM + 18, `${Number((10 ** power).toPrecision(1))}`, 'text-anchor="middle"');
  const valueTick = (value: number) =>
    line({ x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }) +
    svgText(LEFT - 8, y(value) + 4, `${Number(value.toPrecision(3))}`, 'text-anchor="end"');
  const dots = points.map(({ name, value }, i) => ({ name, x: x(seconds[i]!), y: y(value) }));
  const labels = labelHeights(dots);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    svgText(LEFT, 24, title, 'font-size="15" font-weight="bold"'),
    ...range(first, last).map(secondsTick),
    ...range(0, Math.round(top / step)).map((i) => valueTick(i * step)),
    svgText(LEFT, HEIGHT - 12, "seconds of fitting"),
    svgText(LEFT, TOP - 8, metric),
    ...points.map(({ isChosen }, i) => dot({ ...dots[i]!, label: labels[i]!, isChosen })),
    "</svg>",
    "",
  ].join("\n");
}

type Line = { readonly x1: number; readonly x2: number; readonly y1: number; readonly y2: number };

const line = ({ x1, x2, y1, y2 }: Line) =>
  `<line x1="${rounded(x1)}" x2="${rounded(x2)}" y1="${rounded(y1)}" y2="${rounded(y2)}" stroke="#ddd"/>`;

type Dot = { readonly x: number; readonly y: number; readonly name: string };

function dot({ name, x, y, label, isChosen }: Dot & { readonly label: number; readonly isChosen: boolean }): string {
  const color = isChosen ? "#b3261e" : "#2a5db0";
  const fill = isChosen ? color : "#fff";
  const circle = `<circle cx="${rounded(x)}" cy="${rounded(y)}" r="5" stroke="${color}" stroke-width="2" fill="${fill}"/>`;
  return circle + svgText(x + LABEL_GAP, label + 4, name, `fill="${color}"${isChosen ? ' font-weight="bold"' : ""}`);
}

/** The height of each label: at its dot, or the nearest height above or below where no earlier label is. */
function labelHeights(dots: readonly Dot[]): number[] {
  const placed: (Dot & { readonly height: number })[] = [];
  const overlaps = (dot: Dot, height: number) =>
    placed.some(
      (other) =>
        Math.abs(other.height - height) < LABEL_HEIGHT &&
        other.x < dot.x + CHARACTER_WIDTH * dot.name.length &&
        dot.x < other.x + CHARACTER_WIDTH * other.name.length,
    );
  for (const dot of dots) {
    const heights = range(0, 40).map((i) => dot.y + (i % 2 === 0 ? -1 : 1) * Math.ceil(i / 2) * (LABEL_HEIGHT / 2));
    placed.push({ ...dot, height: heights.find((height) => !overlaps(dot, height)) ?? dot.y });
  }
  return placed.map(({ height }) => height);
}

/** The smallest of 1, 2 or 5 times a power of ten that is at least the given number. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least - 1e-12)!;
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** A coordinate rounded to a tenth of a unit, which is not visible. */
export const rounded = (value: number): number => Number(value.toFixed(1));

/** A text of an SVG picture, its characters escaped. `attributes` is SVG. */
export const svgText = (x: number, y: number, content: string, attributes = ""): string =>
  `<text x="${rounded(x)}" y="${rounded(y)}" ${attributes}>${escaped(content)}</text>`;

export const escaped = (content: string): string =>
  content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
