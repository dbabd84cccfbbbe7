/** One model of a plot: how good its lists are, and what fitting it took. */
export type PlotPoint = {
  readonly name: string;
  readonly fitSeconds: number;
  /** Of the metric that the plot is about, not negative. */
  readonly value: number;
  readonly isChosen: boolean;
};

export type PlotText = { readonly title: string; readonly metric: string };

const WIDTH = 720;
const HEIGHT = 420;
const LEFT = 64;
const RIGHT = 150;
const TOP = 48;
const BOTTOM = 52;
const SECONDS_LEAST = 0.01; // below it a fit takes no time worth telling
const LABEL_HEIGHT = 14;
const LABEL_GAP = 10; // between a dot and its label
const CHARACTER_WIDTH = 7;
const DOT_ROOM = 6;
/** Where a label may stand, the nearest to its dot first. */
const OFFSETS = Array.from({ length: 41 }, (_, i) => (i % 2 === 0 ? -1 : 1) * Math.ceil(i / 2) * (LABEL_HEIGHT / 2));

/**
 * Quality against fitting time as an SVG picture: seconds on a logarithmic axis, the metric from 0. Each model is a dot with its name;
 * the chosen one is filled. Reads on light and dark pages.
 */
export function qualityPlot(points: readonly PlotPoint[], { title, metric }: PlotText): string {
  const seconds = points.map(({ fitSeconds }) => Math.max(SECONDS_LEAST, fitSeconds));
  const decades = {
    first: Math.floor(Math.log10(Math.min(1, ...seconds))),
    last: Math.ceil(Math.log10(Math.max(10, ...seconds))),
  };
  const step = niceStep(Math.max(1e-9, ...points.map(({ value }) => value)) / 5);
  const top = step * Math.ceil(Math.max(step, ...points.map(({ value }) => value)) / step);
  const x = (value: number) =>
    LEFT + ((Math.log10(value) - decades.first) / (decades.last - decades.first)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
  const ticks = [
    ...range(decades.first, decades.last).map((power) => secondsTick(x(10 ** power), 10 ** power)),
    ...range(0, Math.round(top / step)).map((i) => valueTick(y(i * step), i * step)),
  ];
  const places = points.map(({ name, value }, i) => ({ name, x: x(seconds[i]!), y: y(value) }));
  const labels = labelHeights(places);
  const dots = points.map((point, i) => dot(point, { ...places[i]!, label: labels[i]! }));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    svgText(LEFT, 24, title, 'font-size="15" font-weight="bold"'),
    ...ticks,
    svgText(LEFT, HEIGHT - 12, "seconds of fitting"),
    svgText(LEFT, TOP - 8, metric),
    ...dots,
    "</svg>",
    "",
  ].join("\n");
}

const GRID = 'stroke="#ddd"';

const secondsTick = (x: number, seconds: number) =>
  `<line x1="${rounded(x)}" x2="${rounded(x)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" ${GRID}/>` +
  svgText(x, HEIGHT - BOTTOM + 18, `${Number(seconds.toPrecision(1))}`, 'text-anchor="middle"');

const valueTick = (y: number, value: number) =>
  `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${rounded(y)}" y2="${rounded(y)}" ${GRID}/>` +
  svgText(LEFT - 8, y + 4, `${Number(value.toPrecision(3))}`, 'text-anchor="end"');

function dot({ name, isChosen }: PlotPoint, at: { x: number; y: number; label: number }): string {
  const color = isChosen ? "#b3261e" : "#2a5db0";
  const label = svgText(
    at.x + LABEL_GAP,
    at.label + 4,
    name,
    `fill="${color}"${isChosen ? ' font-weight="bold"' : ""}`,
  );
  const isAside = Math.abs(at.label - at.y) > LABEL_HEIGHT / 2 + 1;
  const ends = `x1="${rounded(at.x)}" y1="${rounded(at.y)}" x2="${rounded(at.x + LABEL_GAP - 2)}" y2="${rounded(at.label)}"`;
  const leader = isAside ? `<line ${ends} stroke="${color}" stroke-width="0.7"/>` : "";
  const place = `cx="${rounded(at.x)}" cy="${rounded(at.y)}" r="5"`;
  return `${leader}<circle ${place} stroke="${color}" stroke-width="2" fill="${isChosen ? color : "#fff"}"/>${label}`;
}

type Dot = { readonly x: number; readonly y: number; readonly name: string };
type Box = { readonly left: number; readonly right: number; readonly top: number; readonly bottom: number };

/** Heights of the labels, each beside its dot, or as near above or below as leaves all dots and other labels free. */
function labelHeights(dots: readonly Dot[]): number[] {
  const taken: Box[] = dots.map(({ x, y }) => box(x - DOT_ROOM, x + DOT_ROOM, y, 2 * DOT_ROOM));
  return dots.map(({ x, y, name }) => {
    const at = (height: number) =>
      box(x + LABEL_GAP, x + LABEL_GAP + CHARACTER_WIDTH * name.length, height, LABEL_HEIGHT);
    const free = OFFSETS.map((offset) => y + offset).find(
      (height) => height >= TOP && height <= HEIGHT - BOTTOM && !taken.some((other) => overlap(at(height), other)),
    );
    taken.push(at(free ?? y));
    return free ?? y;
  });
}

const box = (left: number, right: number, middle: number, height: number): Box => {
  return { left, right, top: middle - height / 2, bottom: middle + height / 2 };
};
const overlap = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** 1, 2 or 5 times a power of ten, at least the given. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least - 1e-12)!;
}

const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** To a tenth of a unit, which nobody sees. */
export const rounded = (value: number): number => Number(value.toFixed(1));

/** A text of an SVG picture, its characters escaped. `attributes` are SVG. */
export const svgText = (x: number, y: number, content: string, attributes = ""): string =>
  `<text x="${rounded(x)}" y="${rounded(y)}" ${attributes}>${escaped(content)}</text>`;

export const escaped = (content: string): string =>
  content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
