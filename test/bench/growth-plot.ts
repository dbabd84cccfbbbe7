/** One line of a plot. Values and sizes are above 0. */
export type GrowthSeries = {
  readonly name: string;
  readonly points: readonly { readonly size: number; readonly value: number }[];
};

const WIDTH = 760;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 230;
const TOP = 48;
const BOTTOM = 52;
const LABEL_HEIGHT = 15;
const COLORS = ["#b3261e", "#2a5db0", "#2e7d32", "#8e5a00", "#6a3fb5", "#00798c", "#5f6368"];

export type GrowthText = { readonly title: string; readonly sizes: string; readonly unit: string };

/**
 * Draws lines as SVG with labels at their ends, readable on light and dark pages. The axis of sizes is logarithmic.
 *
 * @param axisOfValues `linearAxis` for values that differ by less than a factor of ten.
 */
export function growthPlot(series: readonly GrowthSeries[], text: GrowthText, axisOfValues = logAxis): string {
  const all = series.flatMap(({ points }) => points);
  const { at: x, ticks: sizes } = logAxis(
    all.map(({ size }) => size),
    [LEFT, WIDTH - RIGHT],
  );
  const { at: y, ticks: values } = axisOfValues(
    all.map(({ value }) => value),
    [HEIGHT - BOTTOM, TOP],
  );
  const drawn = series.filter(({ points }) => points.length > 0);
  const labels = spread(drawn.map(({ points }) => y(points.at(-1)!.value)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(text.title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    words(LEFT, 24, text.title, 'font-size="15" font-weight="bold"'),
    ...sizes.map((size) => vertical(x(size), size)),
    ...values.map((value) => horizontal(y(value), value)),
    words(LEFT, HEIGHT - 12, text.sizes),
    words(LEFT, TOP - 8, text.unit),
    ...drawn.map(({ name, points }, i) => {
      const color = COLORS[i % COLORS.length]!;
      const path = points.map(({ size, value }) => `${rounded(x(size))},${rounded(y(value))}`).join(" ");
      const end = { x: x(points.at(-1)!.size), y: y(points.at(-1)!.value) };
      const label = words(WIDTH - RIGHT + 18, labels[i]! + 4, name, `fill="${color}"`);
      const leader = `<line x1="${rounded(end.x)}" y1="${rounded(end.y)}" x2="${WIDTH - RIGHT + 14}" y2="${rounded(labels[i]!)}" stroke="${color}" stroke-width="0.6"/>`;
      return `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>${leader}${label}`;
    }),
    "</svg>",
    "",
  ].join("\n");
}

/** Where values are drawn between two coordinates, and the values that have a line and a label. */
type Axis = { readonly at: (value: number) => number; readonly ticks: readonly number[] };

function logAxis(values: readonly number[], [from, to]: readonly [number, number]): Axis {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))));
  return {
    at: (value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from),
    ticks: Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i)),
  };
}

/** A linear axis with a line for every twentieth. */
export function linearAxis(values: readonly number[], [from, to]: readonly [number, number]): Axis {
  const first = Math.floor(20 * Math.min(...values));
  const last = Math.max(first + 1, Math.ceil(20 * Math.max(...values)));
  return {
    at: (value) => from + ((20 * value - first) / (last - first)) * (to - from),
    ticks: Array.from({ length: last - first + 1 }, (_, i) => (first + i) / 20),
  };
}

/** Positions of the labels, moved down where they would overlap. */
function spread(wanted: readonly number[]): number[] {
  const places = [...wanted];
  let free = TOP;
  for (const i of wanted.map((_, i) => i).sort((a, b) => wanted[a]! - wanted[b]!)) {
    places[i] = Math.max(free, wanted[i]!);
    free = places[i]! + LABEL_HEIGHT;
  }
  return places;
}

const vertical = (x: number, size: number) =>
  `<line x1="${rounded(x)}" x2="${rounded(x)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" stroke="#ddd"/>` +
  words(x, HEIGHT - BOTTOM + 18, size.toLocaleString("en"), 'text-anchor="middle"');
const horizontal = (y: number, value: number) =>
  `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${rounded(y)}" y2="${rounded(y)}" stroke="#ddd"/>` +
  words(LEFT - 8, y + 4, value.toLocaleString("en"), 'text-anchor="end"');
const words = (x: number, y: number, content: string, more = 'fill="#333"') =>
  `<text x="${rounded(x)}" y="${rounded(y)}" ${more}>${escaped(content)}</text>`;
/** A coordinate rounded to a tenth of a unit, which is not visible. */
const rounded = (value: number) => Number(value.toFixed(1));
const escaped = (content: string) => content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
