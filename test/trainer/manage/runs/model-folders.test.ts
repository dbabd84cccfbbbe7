import { existsSync } from "node:fs";
import { mkdir, readdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modelFolders } from "../../../../trainer/manage/runs/model-folders.ts";
import { freshFolder } from "../../../fixtures/trainer-state.ts";

test("a run's folder is empty at the start and removed at the end", async () => {
  const folders = modelFolders(await freshFolder());
  const { work, temp } = await folders.makeRun("r");
  await writeFile(join(temp, "spilt"), "x");
  expect((await stat(work)).mode & 0o077).toBe(0);
  await folders.makeRun("r");
  expect(await readdir(work)).toEqual(["temp"]);
  expect(await readdir(temp)).toEqual([]);
  await folders.removeRun("r");
  await folders.removeRun("r");
  expect(existsSync(work)).toBe(false);
});

test("a model's folder stays until the model is removed; names that differ in case have two folders", async () => {
  const folders = modelFolders(await freshFolder());
  const upper = await folders.makeModel("acme", "Shop");
  const lower = await folders.makeModel("acme", "shop");
  await writeFile(join(upper, "kept"), "x");
  expect(upper.toLowerCase()).not.toBe(lower.toLowerCase());
  expect(await folders.makeModel("acme", "Shop")).toBe(upper);
  await folders.removeModel("acme", "shop");
  expect([existsSync(lower), existsSync(join(upper, "kept"))]).toEqual([false, true]);
});

test("a sweep removes unknown folders only, and reads the models after the folders", async () => {
  const state = await freshFolder();
  const dead = (await modelFolders(state).makeRun("dead")).work; // of a process before this one
  const folders = modelFolders(state);
  const paths = [await folders.makeModel("acme", "old"), await folders.makeModel("acme", "new")];
  const alive = (await folders.makeRun("alive")).work;
  let late = "";
  await folders.sweep(async () => {
    late = await folders.makeModel("acme", "late");
    return [{ customer: "acme", modelName: "new" }];
  });
  const isThere = [...paths, dead, alive, late].map((path) => existsSync(path));
  expect(isThere).toEqual([false, true, false, true, true]);
});

test("a sweep of a state folder that does not exist does nothing", async () => {
  await modelFolders(join(await freshFolder(), "none")).sweep(async () => []);
});

test("only a customer's rows from before the given time are removed", async () => {
  const folders = modelFolders(await freshFolder());
  const kept = async (customer: string, name: string, seconds: number) => {
    const rows = join(await folders.makeModel(customer, name), "interactions");
    await mkdir(rows);
    await writeFile(join(rows, "rows.parquet"), "");
    await utimes(join(rows, "rows.parquet"), seconds, seconds);
    return rows;
  };
  const [old, late, foreign] = [await kept("acme", "a", 100), await kept("acme", "b", 300), await kept("z", "a", 100)];
  await writeFile(join(old, "../checkpoint"), "x");
  await folders.removeRows("acme", 200_000);
  await folders.removeRows("nobody", 200_000);
  const isThere = [old, late, foreign, join(old, "../checkpoint")].map((path) => existsSync(path));
  expect(isThere).toEqual([false, true, true, true]);
});

test("kept rows go by when they were put in place, whatever else was begun in their folder since", async () => {
  const folders = modelFolders(await freshFolder());
  const rows = join(await folders.makeModel("acme", "a"), "interactions");
  await mkdir(rows);
  await writeFile(join(rows, "rows.parquet"), "");
  await utimes(join(rows, "rows.parquet"), 100, 100);
  await writeFile(join(rows, "writing-1"), ""); // by a run that was ended
  await folders.removeRows("acme", 200_000);
  expect(existsSync(rows)).toBe(false);
});

test("copies of event files from before the given time are removed, and later ones stay", async () => {
  const folders = modelFolders(await freshFolder());
  const events = join(await folders.makeModel("acme", "a"), "events");
  await mkdir(events);
  for (const [name, seconds] of Object.entries({ old: 100, late: 300 })) {
    await writeFile(join(events, name), "");
    await utimes(join(events, name), seconds, seconds);
  }
  await folders.removeRows("acme", 200_000);
  expect(await readdir(events)).toEqual(["late"]);
});
