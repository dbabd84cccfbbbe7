/** What shoppers of the demo shop like: hidden from the service, which sees only what they do. */

/** A category, the price of a typical item, and words for its items. All names are invented. */
export const CATEGORIES: readonly (readonly [name: string, price: number, nouns: string])[] = [
  ["Running", 95, "Running Shoe, Trail Shoe, Running Vest, Split Shorts"],
  ["Hiking", 130, "Hiking Boot, Trekking Pole, Rain Shell, Gaiters"],
  ["Camping", 160, "Two-Person Tent, Sleeping Bag, Camp Stove, Lantern"],
  ["Cycling", 120, "Bib Shorts, Cycling Helmet, Bar Bag, Floor Pump"],
  ["Yoga", 45, "Yoga Mat, Cork Block, Leggings, Bolster"],
  ["Tea", 18, "Green Tea, Earl Grey, Rooibos, Teapot"],
  ["Coffee", 35, "Espresso Beans, Hand Grinder, Pour-Over Cone, Gooseneck Kettle"],
  ["Cookware", 70, "Cast-Iron Pan, Saucepan, Chef's Knife, Cutting Board"],
  ["Baking", 30, "Loaf Tin, Rolling Pin, Dough Scraper, Stand Mixer"],
  ["Lights", 55, "Desk Lamp, Bike Light, Head Torch, Floor Lamp"],
  ["Office", 60, "Fountain Pen, Notebook, Desk Mat, Monitor Stand"],
  ["Audio", 150, "Headphones, Bookshelf Speaker, Turntable, Earbuds"],
];
export const STYLES = ["classic", "bright", "rugged", "minimal", "handmade", "light"];
const BRANDS =
  "Alderly Brightfen Corvale Dunmore Eskdale Fernhill Galtry Hollin Ivarsund Juniper Kestrelby Larkmoor".split(" ");

/** Returns a number in [0, 1). */
export type Random = () => number;
export type Taste = ReturnType<typeof makeTaste>;
type Liked = { readonly category: string; readonly brand: string; readonly style: string };

/** A few categories, brands of one of them, and one style. */
export function makeTaste(random: Random) {
  const home = Math.floor(random() * CATEGORIES.length);
  const categories = [home, (home + 1) % CATEGORIES.length, Math.floor(random() * CATEGORIES.length)];
  return {
    categories: categories.map((category) => CATEGORIES[category]![0]),
    brands: [brandOf(home, random), brandOf(home, random)],
    style: pick(STYLES, random),
  };
}

/** How well an item matches a taste: from -.3 to 1.9. */
export const affinity = (taste: Taste, item: Liked): number =>
  (taste.brands.includes(item.brand) ? 0.9 : 0) +
  (taste.style === item.style ? 0.8 : 0) +
  (taste.categories.includes(item.category) ? 0.2 : -0.3);

/** A category has five of the brands, so that the brand is informative. */
export const brandOf = (category: number, random: Random) =>
  BRANDS[(category + Math.floor(random() * 5)) % BRANDS.length]!;

export const pick = <Value>(values: readonly Value[], random: Random): Value =>
  values[Math.floor(random() * values.length)]!;
