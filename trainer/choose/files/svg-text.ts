/** To a tenth of a unit, which nobody sees. */
export const rounded = (value: number): number => Number(value.toFixed(1));

/** A text of an SVG picture, its characters escaped. `attributes` are SVG. */
export const svgText = (x: number, y: number, content: string, attributes = ""): string =>
  `<text x="${rounded(x)}" y="${rounded(y)}" ${attributes}>${escaped(content)}</text>`;

export const escaped = (content: string): string =>
  content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
