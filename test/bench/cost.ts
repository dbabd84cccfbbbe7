import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { Manifest } from "../../shared/manifest.ts";
import { type Bench, compared, type Figure, timesMs } from "./bench.ts";
import { monthCost, rankCost } from "./cost-of-ranks.ts";
import { processUse } from "./edge-scale-process.ts";
import { publishWorld, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld } from "./edge-scale-world.ts";
import { PRICES } from "./prices.ts";

const CATALOGS = [
  { label: "10k", itemCount: 10_000 },
  { label: "100k", itemCount: 100_000 },
  { label: "1m", itemCount: 1_000_000 },
] as const;
const USERS_SERVED = [
  ["1m", 1e6],
  ["10m", 1e7],
] as const;
const USERS = 20_000;
const CALLS = 200;
const WARM_UP = 20;
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
/** Reads per rank: the user's record. Keys, pointers and versions are cached. */
const READS_PER_RANK = 1;
/** Assumption: trained daily, loaded by a thousand isolates a day. */
const PUBLISHED_PER_MONTH = 30;
const LOADS_PER_MONTH = 30 * 1000;

/**
 * Cost of a million ranks for known users and of a model per month, from measurements and the list prices in
 * `prices.ts`. The CPU time includes workerd's simulated bucket, so the true cost is lower. The reference is the
 * lowest list price of a hosted service.
 */
export const cost: Bench = async ({ say, flags }) => {
  say(`  list prices of ${PRICES.asOf}, load ${loadavg()[0]!.toFixed(1)}`);
  const only = flags.get("items");
  const figures: Figure[] = [];
  for (const { label, itemCount } of CATALOGS) {
    if (only !== undefined && Number(only) !== itemCount) continue;
    const { cpuMs, manifest } = await measure(label, itemCount);
    const hosted = Math.min(...PRICES.hosted.map(({ from }) => from));
    const dollars = rankCost({ cpuMs, reads: READS_PER_RANK }, PRICES.platform);
    figures.push(
      { name: `cost.cpu.${label}`, value: cpuMs, unit: "ms/rank" },
      compared(`cost.million_ranks.${label}`, "$", dollars, hosted),
      ...USERS_SERVED.map(([users, count]) => ({
        name: `cost.model_month.${label}.users_${users}`,
        value: monthCost(usageOf(manifest, count), PRICES.platform),
        unit: "$",
      })),
    );
    say(`  ${label} items: ${cpuMs.toFixed(2)} ms of CPU, ${dollars.toFixed(2)} $ per million ranks`);
  }
  const lists = PRICES.hosted.flatMap(({ name, from, to }) => [
    { name: `cost.million_ranks.${name}.least`, value: from, unit: "$" },
    { name: `cost.million_ranks.${name}.most`, value: to, unit: "$" },
  ]);
  return [...figures, ...lists];
};

/** CPU time of workerd per rank of a known user, one call at a time. */
async function measure(label: string, itemCount: number): Promise<{ cpuMs: number; manifest: Manifest }> {
  const r2Directory = await mkdtemp(join(tmpdir(), "bench-cost-"));
  try {
    const world = drawnWorld({ label, itemCount, userCount: USERS, weightBytesMax: WEIGHT_BYTES_MAX });
    const { built, call } = await publishWorld(r2Directory, world);
    return await withEdge({ r2Directory }, async (edge, pid) => {
      const known = (i: number) => call(edge, `?user_id=${(i * 7919) % USERS}&limit=15`);
      await timesMs(WARM_UP, known);
      const before = processUse(pid).cpuMs;
      await timesMs(CALLS, known);
      return { cpuMs: (processUse(pid).cpuMs - before) / CALLS, manifest: built.manifest };
    });
  } finally {
    await rm(r2Directory, { recursive: true, force: true });
  }
}

/**
 * Cost per month of a model with this many users, whose records are as large as the measured ones. Two versions are
 * kept.
 */
function usageOf({ model, catalog, attributes, users }: Manifest, userCount: number) {
  const shared = [model.graph, ...model.weights.map(({ file }) => file), catalog, ...(attributes ? [attributes] : [])];
  const pages = users?.pages ?? [];
  const recordBytes = (sizeOf(pages) + (users?.directory.size ?? 0)) * (userCount / USERS);
  const files = shared.length + Math.ceil(recordBytes / (64 * 2 ** 20)) + 3; // directory, manifest, pointer
  return {
    storedBytes: 2 * (sizeOf(shared) + recordBytes),
    writes: PUBLISHED_PER_MONTH * files,
    reads: LOADS_PER_MONTH * (shared.length + 3),
  };
}

const sizeOf = (files: readonly { readonly size: number }[]) => files.reduce((sum, { size }) => sum + size, 0);
