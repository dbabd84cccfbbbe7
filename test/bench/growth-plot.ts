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

/** Draws lines on two logarithmic axes as SVG with labels at their ends, readable on light and dark pages. */
export function growthPlot(
  series: readonly GrowthSeries[],
  text: { title: string; sizes: string; unit: string },
): string {
  const all = series.flatMap(({ points }) => points);
  const [sizeDecades, valueDecades] = [
    decadesOf(all.map(({ size }) => size)),
    decadesOf(all.map(({ value }) => value)),
  ];
  const x = scaleOf(sizeDecades, [LEFT, WIDTH - RIGHT]);
  const y = scaleOf(valueDecades, [HEIGHT - BOTTOM, TOP]);
  const drawn = series.filter(({ points }) => points.length > 0);
  const labels = spread(drawn.map(({ points }) => y(points.at(-1)!.value)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(text.title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    words(LEFT, 24, text.title, 'font-size="15" font-weight="bold"'),
    ...powers(sizeDecades).map((size) => vertical(x(size), size)),
    ...powers(valueDecades).map((value) => horizontal(y(value), value)),
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

type Decades = { readonly first: number; readonly last: number };

function decadesOf(values: readonly number[]): Decades {
  const first = Math.floor(Math.log10(Math.min(...values)));
  return { first, last: Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values)))) };
}

const scaleOf =
  ({ first, last }: Decades, [from, to]: readonly [number, number]) =>
  (value: number) =>
    from + ((Math.log10(value) - first) / (last - first)) * (to - from);

const powers = ({ first, last }: Decades) => Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));

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
