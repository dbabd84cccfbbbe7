import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { seededRandom } from "../learn/numerics/seeded-random.ts";
import { pictureOf } from "./demo-pictures.ts";
import { affinity, brandOf, CATEGORIES, makeTaste, pick, type Random, STYLES } from "./demo-tastes.ts";

export type DemoShopOptions = { readonly seed?: number; readonly users?: number; readonly items?: number };
export type DemoShopFiles = { readonly interactions: string; readonly items: string };

const DAY = 86_400;
const DAYS = 180;
const VISIT_EVENTS = 4;
const END_SECONDS = Date.UTC(2025, 9, 1) / 1000;

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
    const name = `${item.brand} ${item.style[0]!.toUpperCase()}${item.style.slice(1)} ${item.noun} ${item.id}`;
    const fields = [item.id, name, item.category, item.brand, item.style];
    return [...fields, item.price.toFixed(2), item.launched, item.inStock, `"${pictureOf(item)}"`].join(",");
  });
  const itemHeader = "item_id,title,category,brand,style,price,launched,in_stock,picture";
  await writeFile(join(unfinished, "items.csv"), `${itemHeader}\n${itemRows.join("\n")}\n`);
  await rename(unfinished, folder);
  return files;
}

type Item = ReturnType<typeof makeItem>;
type User = ReturnType<typeof makeUser>;
type Event = { readonly user: User; readonly item: Item; readonly seconds: number; readonly label: 0 | 1 };

function makeItem(index: number, random: Random) {
  const position = index % CATEGORIES.length;
  const [category, price, nouns] = CATEGORIES[position]!;
  return {
    id: 1001 + index,
    category,
    brand: brandOf(position, random),
    style: pick(STYLES, random),
    noun: pick(nouns.split(", "), random),
    price: Math.max(2, price * Math.exp(0.5 * normal(random))),
    launched: iso(END_SECONDS - Math.floor(random() * 900) * DAY),
    inStock: random() < 0.93,
    popularity: 1.1 * normal(random), // logarithm of the weight
  };
}

function makeUser(index: number, random: Random) {
  return {
    id: `user-${String(index + 1).padStart(4, "0")}`,
    ...makeTaste(random),
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

const iso = (seconds: number) => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");

/** Approximately standard normal (sum of twelve uniforms), identical on every machine. */
function normal(random: Random): number {
  let sum = -6;
  for (let i = 0; i < 12; i++) sum += random();
  return sum;
}
