/**
 * The process of `core-pace.ts`. Usage: `node core-pace-process.ts CORE`. It reports the CPU time of each piece of
 * work and how long the host has taken the core away so far, both in milliseconds.
 */
import { readFileSync } from "node:fs";

const EVERY_MS = 100;
const ROUNDS = 200_000;
/** `/proc/stat` counts hundredths of a second; the eighth number is "steal" (proc_stat(5)). */
const STOLEN_AT = 8;
const MS_PER_TICK = 10;

const line = `cpu${process.argv[2]} `;

function stolenMs(): number {
  try {
    const own = readFileSync("/proc/stat", "utf8")
      .split("\n")
      .find((text) => text.startsWith(line));
    return MS_PER_TICK * Number(own?.split(" ")[STOLEN_AT] ?? 0);
  } catch {
    return 0; // not Linux
  }
}

let mixed = 1; // keeps the compiler from removing the work
function work(): void {
  for (let round = 0; round < ROUNDS; round++) mixed = (Math.imul(mixed, 1_664_525) + 1_013_904_223) | 0;
}

process.on("disconnect", () => process.exit());
setInterval(() => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  process.send?.({ cpuMs: (user + system) / 1000, stolenMs: stolenMs() });
}, EVERY_MS);
