import { mkdtemp, readFile, rm } from "node:fs/promises";
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
  expect((await rowsOf(files.users)).length).toBe(4000);
  const times = events.map(([, , time]) => time!);
  expect(times).toEqual([...times].sort());
  const positives = events.filter(([, , , label]) => label === "1").length;
  expect(positives / events.length).toBeGreaterThan(0.4);
  expect(positives / events.length).toBeLessThan(0.8);
});

test("some items are far more popular than others", async () => {
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

test("users keep to their tastes: most of a user's events are in few categories", async () => {
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
      const top = counts.sort((a, b) => b - a).slice(0, 4);
      return top.reduce((sum, count) => sum + count, 0) / categories.length;
    });
  expect(shares.reduce((sum, share) => sum + share, 0) / shares.length).toBeGreaterThan(0.6); // of 24 categories
});

test("the same seed gives the same bytes, another seed others", async () => {
  const write = async (name: string, seed: number) => {
    const files = await writeDemoShop(join(folder, name), { seed, users: 50, items: 100 });
    return await Promise.all(Object.values(files).map((path) => readFile(path, "utf8")));
  };
  expect(await write("once", 7)).toEqual(await write("again", 7));
  expect(await write("other", 8)).not.toEqual(await write("once", 7));
});

test("the last visit is before the end that was asked for", async () => {
  const endSeconds = Date.UTC(2024, 5, 1) / 1000;
  const files = await writeDemoShop(join(folder, "end"), { users: 200, endSeconds });
  const last = (await rowsOf(files.interactions)).at(-1)!.split(",")[2]!;
  expect(Date.parse(last)).toBeLessThan(endSeconds * 1000);
  expect(Date.parse(last)).toBeGreaterThan((endSeconds - 3 * 86_400) * 1000);
});
