/** The process of `core-pace.ts`: tells the CPU time of one piece of work after another, in milliseconds. */
const EVERY_MS = 100;
const ROUNDS = 200_000;

let mixed = 1; // kept, so that the work has a result
function work(): void {
  for (let round = 0; round < ROUNDS; round++) mixed = (Math.imul(mixed, 1_664_525) + 1_013_904_223) | 0;
}

process.on("disconnect", () => process.exit());
setInterval(() => {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  process.send?.((user + system) / 1000);
}, EVERY_MS);
