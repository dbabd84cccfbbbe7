import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type DemoShopFiles, writeDemoShop } from "./demo-shop.ts";
import type { GivenFiles } from "./start-flags.ts";

/**
 * The demo shop's files, generated when they are not there yet: whole, or not at all.
 *
 * @param folder Where the folder `demo-shop` is made.
 */
export async function demoFiles(folder: string, write = writeDemoShop): Promise<GivenFiles> {
  const shop = join(folder, "demo-shop");
  if (!existsSync(shop)) {
    const unfinished = `${shop}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    await write(unfinished);
    await rename(unfinished, shop);
  }
  const { interactions, items, users }: DemoShopFiles = {
    interactions: join(shop, "interactions.csv"),
    items: join(shop, "items.csv"),
    users: join(shop, "users.csv"),
  };
  return { interactions, items, users, columns: {} };
}
