/** Pictures of the demo shop's items, drawn from what they are, so that no file and no other host is needed. */

type Pictured = {
  readonly id: number;
  readonly category: string;
  readonly brand: string;
};

/** A drawing for each category, as a path on 24 × 24. */
const SHAPES: Readonly<Record<string, string>> = {
  Running: "M2 16l5-8 5 5h6q4 1 4 5H2z",
  Hiking: "M1 20L9 5l4 8 3-4 7 11z",
  Camping: "M12 4L2 20h7l3-6 3 6h7z",
  Cycling: "M2 16a4 4 0 1 0 8 0a4 4 0 1 0-8 0M14 16a4 4 0 1 0 8 0a4 4 0 1 0-8 0M6 16l4-8h5l3 8h-3l-2-5z",
  Yoga: "M12 4q6 8 0 15q-6-7 0-15M3 11q7 1 9 8q-9 0-9-8M21 11q-7 1-9 8q9 0 9-8",
  Tea: "M4 8h15q3 0 3 3t-4 3q-1 4-6 4t-8-4zM3 20h17v1H3z",
  Coffee: "M12 3a6 9 0 1 0 1 0q-5 9 0 18h-1q-5-9 0-18",
  Cookware: "M2 10h13v6q0 3-4 3H6q-4 0-4-3zM15 11h8v2h-8z",
  Baking: "M3 11q0-6 9-6t9 6q-2 0-2 2v6H5v-6q0-2-2-2",
  Lights: "M9 16q-4-3-3-8t6-5 6 5-3 8zM9 18h6v3H9z",
  Office: "M3 21l2-6L17 3l4 4L9 19z",
  Audio: "M3 21v-9a9 9 0 0 1 18 0v9h-5v-7h3v-2a7 7 0 0 0-14 0v2h3v7z",
};

/** An SVG picture as a data address of at most 600 characters: the category's shape in the brand's colour, and the item's id. */
export function pictureOf({ id, category, brand }: Pictured): string {
  const hue = (brand.charCodeAt(0) * 47) % 360; // brands begin with different letters
  const svg =
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>" +
    `<rect width='32' height='32' fill='hsl(${hue} 45% 88%)'/>` +
    `<path transform='translate(4 2)' fill='hsl(${hue} 50% 35%)' fill-rule='evenodd' d='${SHAPES[category] ?? ""}'/>` +
    `<text x='16' y='30' font-size='5' text-anchor='middle'>${id}</text></svg>`;
  return `data:image/svg+xml,${svg.replace(/[\s<>%#"]/g, encodeURIComponent)}`;
}
