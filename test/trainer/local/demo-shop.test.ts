import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoShop } from "../../../trainer/local/demo-shop.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "demo-shop-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const rowsOf = async (path: string) => (await readFile(path, "utf8")).trim().split("\n").slice(1);

test("the shop has some 100,000 events of 4,000 users on 1,500 items, in time order", async () => {
  const files = await writeDemoShop(join(folder, "whole"));
  const events = (await rowsOf(files.interactions)).map((row) => row.split(","));
  expect(events.length).toBeGreaterThan(80_000);
  expect(events.length).toBeLessThan(130_000);
  expect(new Set(events.map(([user]) => user)).size).toBe(4000);
  expect(new Set(events.map(([, item]) => item)).size).toBeGreaterThan(1450);
  expect((await rowsOf(files.items)).length).toBe(1500);
  const times = events.map(([, , time]) => time!);
  expect(times).toEqual([...times].sort());
  const positives = events.filter(([, , , label]) => label === "1").length;
  expect(positives / events.length).toBeGreaterThan(0.5);
  expect(positives / events.length).toBeLessThan(0.9);
});

test("each item has a picture of its own, drawn for its category", async () => {
  const files = await writeDemoShop(join(folder, "pictures"), { users: 20, items: 60 });
  const rows = await rowsOf(files.items);
  const pictures = rows.map((row) => /,"(data:image\/svg\+xml,[^"\s<>#]{1,580})"$/.exec(row)![1]!);
  expect(new Set(pictures).size).toBe(60);
  const shapes = rows.map(
    (row, i) => `${row.split(",")[2]} ${/ d='([^']+)'/.exec(decodeURIComponent(pictures[i]!))![1]}`,
  );
  expect(new Set(shapes).size).toBe(12);
});

test("item popularity is skewed", async () => {
  const files = await writeDemoShop(join(folder, "popular"), { users: 1000 });
  const counts = new Map<string, number>();
  for (const row of await rowsOf(files.interactions)) {
    const item = row.split(",")[1]!;
    counts.set(item, (counts.get(item) ?? 0) + 1);
  }
  const sorted = [...counts.values()].sort((a, b) => b - a);
  const top = sorted.slice(0, 150).reduce((sum, count) => sum + count, 0);
  expect(top / sorted.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0.3); // an even spread would give 0.1
});

test("most events of a user are in few categories", async () => {
  const files = await writeDemoShop(join(folder, "tastes"), { users: 300 });
  const category = new Map((await rowsOf(files.items)).map((row) => [row.split(",")[0]!, row.split(",")[2]!]));
  const perUser = new Map<string, string[]>();
  for (const row of await rowsOf(files.interactions)) {
    const [user, item] = row.split(",");
    perUser.set(user!, [...(perUser.get(user!) ?? []), category.get(item!)!]);
  }
  const shares = [...perUser.values()]
    .filter((categories) => categories.length >= 20)
    .map((categories) => {
      const counts = [...Map.groupBy(categories, (name) => name).values()].map((group) => group.length);
      const top = counts.sort((a, b) => b - a).slice(0, 3);
      return top.reduce((sum, count) => sum + count, 0) / categories.length;
    });
  expect(shares.reduce((sum, share) => sum + share, 0) / shares.length).toBeGreaterThan(0.6); // of 12 categories
});

test("the same seed gives the same bytes and another seed different ones", async () => {
  const write = async (name: string, seed: number) => {
    const files = await writeDemoShop(join(folder, name), { seed, users: 50, items: 100 });
    return await Promise.all(Object.values(files).map((path) => readFile(path, "utf8")));
  };
  expect(await write("one", 7)).toEqual(await write("again", 7));
  expect(await write("other", 8)).not.toEqual(await write("one", 7));
});

test("the demo shop is generated once, and again after an interruption", async () => {
  const shop = join(folder, "once");
  await mkdir(`${shop}.unfinished`);
  await writeFile(join(`${shop}.unfinished`, "interactions.csv"), "cut");
  const files = await writeDemoShop(shop, { users: 20, items: 60 });
  expect((await readFile(files.interactions, "utf8")).split("\n")[0]).toBe("user_id,item_id,created_at,label");
  const { size } = await stat(files.items);
  expect(await writeDemoShop(shop)).toEqual(files);
  expect((await stat(files.items)).size).toBe(size);
});
