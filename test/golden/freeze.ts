/** Writes the golden files that do not exist yet and never changes an existing one. Run it once for a new format or kind. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { format1Files } from "./format-1.ts";
import { format2Files } from "./format-2.ts";
import { futureFiles } from "./future.ts";

for (const [name, files] of [
  ["format-1", await format1Files()],
  ["format-2", await format2Files()],
  ["future", await futureFiles()],
] as const) {
  const folder = new URL(`${name}/`, import.meta.url).pathname;
  mkdirSync(folder, { recursive: true });
  for (const [file, bytes] of files)
    if (!existsSync(folder + file)) writeFileSync(folder + file, bytes, { flag: "wx" });
}
