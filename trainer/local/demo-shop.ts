import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { seededRandom } from "../learn/numerics/seeded-random.ts";

export type DemoShopOptions = { readonly seed?: number; readonly users?: number; readonly items?: number };
export type DemoShopFiles = { readonly interactions: string; readonly items: string };

const DAY = 86_400;
const DAYS = 180;
const VISIT_EVENTS = 4;
const END_SECONDS = Date.UTC(2025, 9, 1) / 1000;
/** A category, the price of a typical item, and words for its items. All names are invented. */
const CATEGORIES: readonly (readonly [name: string, price: number, nouns: string])[] = [
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
const STYLES = ["Classic", "Bright", "Rugged", "Minimal", "Handmade", "Light"];
const BRANDS =
  "Alderly Brightfen Corvale Dunmore Eskdale Fernhill Galtry Hollin Ivarsund Juniper Kestrelby Larkmoor".split(" ");

/**
 * Writes a generated shop as CSV files, all or nothing, unless the folder exists: about 100,000 events of 4,000 users on 1,500
 * items. Each user prefers a few categories, brands and one style, and item popularity is skewed. `label` is 1 if the item was
 * put into the basket and 0 if it was only viewed. The same options give the same bytes.
 */
export async function writeDemoShop(folder: string, options: DemoShopOptions = {}): Promise<DemoShopFiles> {
  const files = { interactions: join(folder, "interactions.csv"), items: join(folder, "items.csv") };
  if (existsSync(folder)) return files;
  const { seed = 1, users: userCount = 4000, items: itemCount = 1500 } = options;
  const random = seededRandom(seed);
  const items = Array.from({ length: itemCount }, (_, index) => makeItem(index, random));
  const users = Array.from({ length: userCount }, (_, index) => makeUser(index, random));
  const events = users.flatMap((user) => eventsOf(user, items, random)).sort((a, b) => a.seconds - b.seconds);

  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  const eventRows = events.map(({ user, item, seconds, label }) => `${user.id},${item.id},${iso(seconds)},${label}`);
  await writeFile(join(unfinished, "interactions.csv"), `user_id,item_id,created_at,label\n${eventRows.join("\n")}\n`);
  const itemRows = items.map((item) => {
    const name = `${item.brand} ${item.style} ${item.noun} ${item.id}`;
    const fields = [item.id, name, CATEGORIES[item.category]![0], item.brand, item.style.toLowerCase()];
    return [...fields, item.price.toFixed(2), item.launched, item.inStock].join(",");
  });
  const itemHeader = "item_id,title,category,brand,style,price,launched,in_stock";
  await writeFile(join(unfinished, "items.csv"), `${itemHeader}\n${itemRows.join("\n")}\n`);
  await rename(unfinished, folder);
  return files;
}

type Random = () => number;
type Item = ReturnType<typeof makeItem>;
type User = ReturnType<typeof makeUser>;
type Event = { readonly user: User; readonly item: Item; readonly seconds: number; readonly label: 0 | 1 };

function makeItem(index: number, random: Random) {
  const category = index % CATEGORIES.length;
  return {
    id: 1001 + index,
    category,
    brand: brandOf(category, random),
    style: pick(STYLES, random),
    noun: pick(CATEGORIES[category]![2].split(", "), random),
    price: Math.max(2, CATEGORIES[category]![1] * Math.exp(0.5 * normal(random))),
    launched: iso(END_SECONDS - Math.floor(random() * 900) * DAY),
    inStock: random() < 0.93,
    popularity: 1.1 * normal(random), // logarithm of the weight
  };
}

function makeUser(index: number, random: Random) {
  const home = Math.floor(random() * CATEGORIES.length);
  return {
    id: `user-${String(index + 1).padStart(4, "0")}`,
    categories: [home, (home + 1) % CATEGORIES.length, Math.floor(random() * CATEGORIES.length)],
    brands: [brandOf(home, random), brandOf(home, random)],
    style: pick(STYLES, random),
    events: Math.ceil(Math.exp(2.9 + 0.8 * normal(random))),
  };
}

/** The events of one user, sampled by weight without replacement (Gumbel's trick). */
function eventsOf(user: User, items: readonly Item[], random: Random): Event[] {
  const visits = Array.from({ length: user.events }, () => END_SECONDS - Math.floor((1 + random() * DAYS) * DAY));
  return items
    .filter((item) => user.categories.includes(item.category) || random() < 0.05)
    .map((item) => ({ item, score: item.popularity + 2 * affinity(user, item) - Math.log(-Math.log(random())) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, user.events)
    .map(({ item }, i) => {
      const label = affinity(user, item) + 0.7 * normal(random) > 0.4 ? 1 : 0;
      return { user, item, seconds: visits[Math.floor(i / VISIT_EVENTS)]! + 60 * i, label };
    });
}

/** How well an item matches a user's preferences. */
const affinity = (user: User, item: Item): number =>
  (user.brands.includes(item.brand) ? 0.9 : 0) +
  (user.style === item.style ? 0.8 : 0) +
  (user.categories.includes(item.category) ? 0.2 : -0.3);

/** A category has five of the brands, so that the brand is informative. */
const brandOf = (category: number, random: Random) => BRANDS[(category + Math.floor(random() * 5)) % BRANDS.length]!;

const iso = (seconds: number) => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
const pick = <Value>(values: readonly Value[], random: Random): Value => values[Math.floor(random() * values.length)]!;

/** Approximately standard normal (sum of twelve uniforms), identical on every machine. */
function normal(random: Random): number {
  let sum = -6;
  for (let i = 0; i < 12; i++) sum += random();
  return sum;
}
