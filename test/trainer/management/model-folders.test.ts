import { existsSync } from "node:fs";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modelFolders } from "../../../trainer/management/model-folders.ts";
import { freshFolder } from "../../fixtures/trainer-state.ts";

test("a run's folder is fresh, and gone when the run is over", async () => {
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

test("a model's folder stays until the model goes; names that differ in case are two", async () => {
  const folders = modelFolders(await freshFolder());
  const upper = await folders.makeModel("acme", "Shop");
  const lower = await folders.makeModel("acme", "shop");
  await writeFile(join(upper, "kept"), "x");
  expect(upper.toLowerCase()).not.toBe(lower.toLowerCase());
  expect(await folders.makeModel("acme", "Shop")).toBe(upper);
  await folders.removeModel("acme", "shop");
  expect([existsSync(lower), existsSync(join(upper, "kept"))]).toEqual([false, true]);
});

test("sweeping leaves what is known, and the models are asked for after the folders were seen", async () => {
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

test("sweeping where nothing has ever been is nothing", async () => {
  await modelFolders(join(await freshFolder(), "none")).sweep(async () => []);
});
