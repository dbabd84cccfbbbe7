import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { seededRandom } from "../learn/numerics/seeded-random.ts";
import {
  DEMO_AGE_GROUPS,
  DEMO_BRANDS,
  DEMO_CATEGORIES,
  DEMO_COUNTRIES,
  DEMO_STYLES,
  DEMO_TAGS,
  type DemoCategory,
} from "./demo-catalog.ts";

export type DemoShopOptions = {
  readonly seed?: number;
  readonly users?: number;
  readonly items?: number;
  /** Visits end one day before this time. The default is a fixed day, so that the files never differ. */
  readonly endSeconds?: number;
};

export type DemoShopFiles = { readonly interactions: string; readonly items: string; readonly users: string };

const DAY = 86_400;
const DAYS = 180;
const FIXED_END = Date.UTC(2025, 9, 1) / 1000;

/**
 * Writes a generated shop as CSV files: about 100,000 events of 4,000 users on 1,500 items. Each user prefers a few
 * categories, brands and styles. The steps of a visit follow from each other, and item popularity is skewed. `label` is 1
 * if the item was put into the basket and 0 if it was only viewed.
 *
 * The same options give the same bytes.
 */
export async function writeDemoShop(folder: string, options: DemoShopOptions = {}): Promise<DemoShopFiles> {
  const { seed = 1, users: userCount = 4000, items: itemCount = 1500, endSeconds = FIXED_END } = options;
  const random = seededRandom(seed);
  const items = makeItems(itemCount, endSeconds, random);
  const users = Array.from({ length: userCount }, (_, i) => makeUser(i, random));
  const shelves = Map.groupBy(items, (item) => item.category);
  const events = users.flatMap((user) => eventsOf(user, shelves, { endSeconds, random }));
  events.sort((a, b) => a.seconds - b.seconds || a.user - b.user || a.item - b.item);

  await mkdir(folder, { recursive: true });
  const files = filesIn(folder);
  const eventRows = events.map(({ user, item, seconds, label }) => [userId(user), itemId(item), iso(seconds), label]);
  await writeFile(files.interactions, csv("user_id,item_id,created_at,label", eventRows));
  await writeFile(
    files.items,
    csv("item_id,title,category,brand,style,price,launched,tags,in_stock", items.map(itemRow)),
  );
  await writeFile(
    files.users,
    csv(
      "user_id,country,age_group",
      users.map((user) => [userId(user.index), user.country, user.ageGroup]),
    ),
  );
  return files;
}

/** Returns the files of the demo shop in `folder`/demo-shop and generates them at the first call, atomically. */
export async function ensureDemoShop(folder: string, write = writeDemoShop): Promise<DemoShopFiles> {
  const shop = join(folder, "demo-shop");
  if (!existsSync(shop)) {
    const unfinished = `${shop}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await write(unfinished);
    await rename(unfinished, shop);
  }
  return filesIn(shop);
}

type Random = () => number;
type Item = {
  readonly index: number;
  readonly category: DemoCategory;
  readonly title: string;
  readonly brand: string;
  readonly style: string;
  readonly price: number;
  readonly launchedSeconds: number;
  readonly tags: readonly string[];
  readonly inStock: boolean;
  readonly popularity: number; // weight within the category
};
type User = {
  readonly index: number;
  readonly country: string;
  readonly ageGroup: string;
  readonly categories: readonly DemoCategory[]; // most preferred first
  readonly brands: ReadonlySet<string>;
  readonly style: string;
  readonly thrift: number; // −1 prefers expensive items, 1 cheap ones
  readonly visits: number;
};
type Event = { readonly user: number; readonly item: number; readonly seconds: number; readonly label: 0 | 1 };

function makeItems(count: number, endSeconds: number, random: Random): Item[] {
  const titles = new Map<string, number>();
  return Array.from({ length: count }, (_, index) => {
    const category = DEMO_CATEGORIES[index % DEMO_CATEGORIES.length]!;
    const at = DEMO_CATEGORIES.indexOf(category);
    // Each brand makes items of a few neighbouring categories, so that the brand is informative.
    const brand = DEMO_BRANDS[(at + Math.floor(random() * 5)) % DEMO_BRANDS.length]!;
    const style = pick(DEMO_STYLES, random);
    const name = `${brand} ${capital(style)} ${pick(category.nouns, random)}`;
    const edition = (titles.get(name) ?? 0) + 1;
    titles.set(name, edition);
    return {
      index,
      category,
      title: edition === 1 ? name : `${name} ${edition}`,
      brand,
      style,
      price: Math.max(2, Math.round(category.price * Math.exp(0.5 * normal(random)) * 100) / 100),
      launchedSeconds: Math.floor(endSeconds / DAY) * DAY - Math.floor(random() ** 0.7 * 900) * DAY,
      tags: DEMO_TAGS.filter(() => random() < 0.2),
      inStock: random() < 0.93,
      popularity: Math.exp(1.1 * normal(random)),
    };
  });
}

function makeUser(index: number, random: Random): User {
  const first = pick(DEMO_CATEGORIES, random);
  const related = first.goesWith.flatMap((name) => DEMO_CATEGORIES.find((category) => category.name === name) ?? []);
  const categories = [first, ...related.filter(() => random() < 0.7), pick(DEMO_CATEGORIES, random)];
  const at = DEMO_CATEGORIES.indexOf(first);
  return {
    index,
    country: pick(DEMO_COUNTRIES, random),
    ageGroup: pick(DEMO_AGE_GROUPS, random),
    categories,
    brands: new Set([0, 1].map(() => DEMO_BRANDS[(at + Math.floor(random() * 5)) % DEMO_BRANDS.length]!)),
    style: pick(DEMO_STYLES, random),
    thrift: 2 * random() - 1,
    visits: Math.min(60, Math.ceil(Math.exp(1.25 + 0.8 * normal(random)))),
  };
}

/** The events of one user. Each visit starts in a preferred category and may move on to a related one. */
function eventsOf(
  user: User,
  shelves: ReadonlyMap<DemoCategory, readonly Item[]>,
  { endSeconds, random }: { endSeconds: number; random: Random },
): Event[] {
  const events: Event[] = [];
  const seen = new Set<number>();
  for (let visit = 0; visit < user.visits; visit++) {
    let seconds = Math.floor(endSeconds - DAY - random() ** 1.3 * DAYS * DAY);
    let category = user.categories[Math.floor(random() ** 2 * user.categories.length)]!;
    const steps = 1 + Math.floor(-Math.log(1 - random()) * 4);
    for (let step = 0; step < steps; step++) {
      const item = chooseItem(user, shelves.get(category) ?? [], { seconds, seen, random });
      if (item === undefined) break;
      seen.add(item.index);
      const liking = affinity(user, item) + normal(random) * 0.7;
      events.push({ user: user.index, item: item.index, seconds, label: liking > 0.4 ? 1 : 0 });
      seconds += 20 + Math.floor(random() * 160);
      const next = pick(category.goesWith, random);
      if (random() < 0.25) category = DEMO_CATEGORIES.find(({ name }) => name === next) ?? category;
    }
  }
  return events;
}

type Moment = { readonly seconds: number; readonly seen: ReadonlySet<number>; readonly random: Random };

function chooseItem(user: User, shelf: readonly Item[], { seconds, seen, random }: Moment): Item | undefined {
  const weights = shelf.map((item) => {
    if (seen.has(item.index) || item.launchedSeconds > seconds) return 0;
    const ageDays = (seconds - item.launchedSeconds) / DAY;
    return item.popularity * Math.exp(1.3 * affinity(user, item)) * (1 + Math.exp(-ageDays / 60)); // new items are shown more often
  });
  let left = weights.reduce((sum, weight) => sum + weight, 0) * random();
  if (left === 0) return undefined;
  return shelf.find((_, i) => {
    left -= weights[i]!;
    return left < 0;
  });
}

/** How well an item matches a user's preferences: about −1…2. */
function affinity(user: User, item: Item): number {
  const brand = user.brands.has(item.brand) ? 0.9 : 0;
  const style = user.style === item.style ? 0.8 : 0;
  const price = -0.6 * user.thrift * Math.log(item.price / item.category.price);
  const home = user.categories.includes(item.category) ? 0.2 : -0.3;
  return brand + style + price + home;
}

const filesIn = (folder: string): DemoShopFiles => ({
  interactions: join(folder, "interactions.csv"),
  items: join(folder, "items.csv"),
  users: join(folder, "users.csv"),
});

const itemRow = (item: Item) => [
  itemId(item.index),
  item.title,
  item.category.name,
  item.brand,
  item.style,
  item.price.toFixed(2),
  iso(item.launchedSeconds).slice(0, 10),
  item.tags.join("|"),
  item.inStock,
];

const userId = (index: number) => `user-${String(index + 1).padStart(4, "0")}`;
const itemId = (index: number) => 1001 + index;
const iso = (seconds: number) => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
const capital = (word: string) => word[0]!.toUpperCase() + word.slice(1);

function csv(header: string, rows: readonly (readonly (string | number | boolean)[])[]): string {
  const field = (value: string | number | boolean) => {
    const text = String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return `${[header, ...rows.map((row) => row.map(field).join(","))].join("\n")}\n`;
}

const pick = <Value>(values: readonly Value[], random: Random): Value => values[Math.floor(random() * values.length)]!;

/** Approximately standard normal (sum of twelve uniforms), identical on every machine. */
function normal(random: Random): number {
  let sum = -6;
  for (let i = 0; i < 12; i++) sum += random();
  return sum;
}
