/** Writes the golden files that do not exist yet; never changes one that does. Run once for a new format or kind. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { format1Files } from "./format-1.ts";
import { format2Files } from "./format-2.ts";

for (const [format, files] of [
  ["format-1", await format1Files()],
  ["format-2", await format2Files()],
] as const) {
  const folder = new URL(`${format}/`, import.meta.url).pathname;
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of files)
    if (!existsSync(folder + name)) writeFileSync(folder + name, bytes, { flag: "wx" });
}
