import { runFuzz } from "../fixtures/fuzz-run.ts";
import { startFuzzWorld } from "../fixtures/fuzz-world.ts";
import type { Bench } from "./bench.ts";

const CASES = 200_000;
const SEED = 1;

/**
 * Generated valid and corrupted requests to a real edge with a real trainer. Every answer is checked, and every list
 * is compared with a slow reference (test/fixtures/fuzz-judge.ts). `--cases 1e5` and `--seed 7` change number and
 * seed.
 */
export const fuzz: Bench = async ({ say, flags, fail }) => {
  const cases = Number(flags.get("cases") ?? CASES);
  const seed = Number(flags.get("seed") ?? SEED);
  const world = await startFuzzWorld(seed);
  try {
    const begin = performance.now();
    const progress = (done: number, failures: number) => {
      if (done % 10_000 === 0)
        say(
          `  ${done} of ${cases}, ${Math.round((done / (performance.now() - begin)) * 1000)} a second, ${failures} failures`,
        );
    };
    const report = await runFuzz(world, { cases, seed, atOnce: 32, progress });
    const seconds = (performance.now() - begin) / 1000;
    const counts = (map: ReadonlyMap<string | number, number>) =>
      [...map].map(([name, count]) => `${name} ${count}`).join(", ");
    say(`  kinds: ${counts(report.kinds)}`);
    say(`  statuses: ${counts(report.statuses)}`);
    for (const failure of report.failures) say(`  FAILED ${failure}`);
    if (report.failureCount > 0)
      fail(`${report.failureCount} of ${cases} requests were not answered as they should be`);
    return [
      { name: "fuzz.cases", value: report.cases, unit: "requests" },
      { name: "fuzz.failures", value: report.failureCount, unit: "requests" },
      { name: "fuzz.cases_per_second", value: report.cases / seconds, unit: "1/s" },
    ];
  } finally {
    await world.stop();
  }
};
