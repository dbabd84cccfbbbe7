/**
 * The process of `core-pace.ts`: tells the CPU time of one piece of work after another, and for how long the host has kept the core for
 * others so far, both in milliseconds.
 *
 *     node core-pace-process.ts CORE
 */
import { readFileSync } from "node:fs";

const EVERY_MS = 100;
const ROUNDS = 200_000;
/** `/proc/stat` counts hundredths of a second (proc_stat(5): the eighth number is "steal"). */
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

let mixed = 1; // kept, so that the work has a result
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
