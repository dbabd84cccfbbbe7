import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { demoFiles } from "../../../trainer/local/demo-files.ts";
import { writeDemoShop } from "../../../trainer/local/demo-shop.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "demo-"));
});
afterEach(() => rm(folder, { recursive: true }));
const small = (path: string) => writeDemoShop(path, { users: 20, items: 60 });

test("the shop is written once, and left alone after that", async () => {
  const files = await demoFiles(folder, small);
  expect((await readFile(files.interactions, "utf8")).split("\n")[0]).toBe("user_id,item_id,created_at,label");
  for (const path of [files.items!, files.users!]) expect((await stat(path)).size).toBeGreaterThan(0);
  const never = () => Promise.reject(new Error("written twice"));
  expect(await demoFiles(folder, never)).toEqual(files);
});

test("a writing that was interrupted leaves no half shop", async () => {
  const cut = async (path: string) => {
    await small(path);
    throw new Error("cut");
  };
  await expect(demoFiles(folder, cut)).rejects.toThrow("cut");
  const files = await demoFiles(folder, small);
  expect((await stat(files.items!)).size).toBeGreaterThan(0);
});
