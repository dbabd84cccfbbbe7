/** Writes the golden files that do not exist yet; never changes one that does. Run once for a new format or kind. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { format1Files } from "./format-1.ts";

const folder = new URL("format-1/", import.meta.url).pathname;
mkdirSync(folder, { recursive: true });
for (const [name, bytes] of await format1Files())
  if (!existsSync(folder + name)) writeFileSync(folder + name, bytes, { flag: "wx" });
