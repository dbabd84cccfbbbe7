import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { settingsOf } from "../../edge/env.ts";
import type { Manifest } from "../../shared/manifest.ts";
import { PAGE_BYTES_TARGET } from "../../shared/user-records.ts";
import { type Bench, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { denseUse, type MeasuredUse, monthCost, type RankUse, rankCost, sparseUse } from "./cost-of-ranks.ts";
import { processUse } from "./edge-scale-process.ts";
import { publishWorld, type TimedEdge, withEdge } from "./edge-scale-serving.ts";
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
const NEW_ISOLATES = 3;
const DENSE_DOLLARS_MAX = 1;
/** When an isolate refreshes them: the pointer after POINTER_CACHE_SECONDS, a key after 0.6 of KEY_CACHE_SECONDS. */
const CACHED_SECONDS = { key: 15, pointer: 4 };
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
/** Assumption about dense traffic: a million calls a day in one data centre, in four isolates, by a million users. */
const DENSE = { calls: 1e6, isolates: 4 };
const DENSE_USERS = 1e6;
/** Assumption: trained daily, loaded by a thousand isolates a day. */
const PUBLISHED_PER_MONTH = 30;
const LOADS_PER_MONTH = 30 * 1000;

/**
 * Cost of a million ranks for known users and of a model per month, from measurements and the list prices in `prices.ts`: requests, CPU
 * time, every read of R2 and sampled log lines, for dense traffic and for one call per hour and data centre. The CPU time includes
 * workerd's simulated bucket, so the true cost is lower. The reference is the lowest list price of a hosted service.
 */
export const cost: Bench = async ({ say, fail, flags }) => {
  say(`  list prices of ${PRICES.asOf}, load ${loadavg()[0]!.toFixed(1)}`);
  const only = flags.get("items");
  const figures: Figure[] = [];
  for (const { label, itemCount } of CATALOGS) {
    if (only !== undefined && Number(only) !== itemCount) continue;
    const { use, manifest } = await measure(label, itemCount);
    const hosted = Math.min(...PRICES.hosted.map(({ from }) => from));
    const uses = { dense: denseUse(use, DENSE, CACHED_SECONDS), sparse: sparseUse(use) };
    for (const [traffic, own] of Object.entries(uses)) {
      const dollars = rankCost(own, PRICES.platform);
      figures.push(
        { name: `cost.cpu.${traffic}.${label}`, value: own.cpuMs, unit: "ms/rank" },
        { name: `cost.reads.${traffic}.${label}`, value: own.reads, unit: "reads/rank" },
        compared(`cost.million_ranks.${traffic}.${label}`, "$", dollars, hosted),
      );
      say(
        `  ${label} items, ${traffic}: ${own.cpuMs.toFixed(2)} ms of CPU, ${own.reads.toFixed(2)} reads, ` +
          `${dollars.toFixed(2)} $ per million ranks`,
      );
      if (traffic === "dense" && itemCount <= 1e5 && dollars > DENSE_DOLLARS_MAX)
        fail(`${dollars} $ per million ranks, at most ${DENSE_DOLLARS_MAX}`);
    }
    for (const [users, count] of USERS_SERVED)
      figures.push({
        name: `cost.model_month.${label}.users_${users}`,
        value: monthCost(usageOf(manifest, count), PRICES.platform),
        unit: "$",
      });
  }
  const lists = PRICES.hosted.flatMap(({ name, from, to }) => [
    { name: `cost.million_ranks.${name}.least`, value: from, unit: "$" },
    { name: `cost.million_ranks.${name}.most`, value: to, unit: "$" },
  ]);
  return [...figures, ...lists];
};

/** Measures calls of known users, one at a time: the first in an empty data centre, those in new isolates, and warm ones. */
async function measure(label: string, itemCount: number): Promise<{ use: MeasuredUse; manifest: Manifest }> {
  const r2Directory = await mkdtemp(join(tmpdir(), "bench-cost-"));
  try {
    const world = drawnWorld({ label, itemCount, userCount: USERS, weightBytesMax: WEIGHT_BYTES_MAX });
    const { built, call } = await publishWorld(r2Directory, world);
    const known = (edge: TimedEdge, i: number) => call(edge, `?user_id=${(i * 7919) % USERS}&limit=15`);
    const firstUse = () =>
      withEdge({ r2Directory }, async (edge, pid) => {
        await edge.http.call("/health/live", {}); // starts the isolate
        const use = await useOf(edge, pid, 1, () => known(edge, 0));
        return { ...use, reads: use.reads + (await readsUntilCached(edge)) };
      });
    const emptyCache = await firstUse();
    const newIsolates: RankUse[] = [];
    for (let i = 0; i < NEW_ISOLATES; i++) newIsolates.push(await firstUse());
    const warm = await withEdge({ r2Directory }, async (edge, pid) => {
      await timesMs(WARM_UP, (i) => known(edge, i));
      return useOf(edge, pid, CALLS, (i) => known(edge, i));
    });
    const cpuMs = quantile(
      newIsolates.map((own) => own.cpuMs),
      0.5,
    );
    const newIsolate = { ...newIsolates.at(-1)!, cpuMs };
    const recordBytes = sizeOf(built.manifest.users?.pages ?? []) * (DENSE_USERS / USERS);
    const pages = Math.ceil(recordBytes / PAGE_BYTES_TARGET);
    return { use: { warm, newIsolate, emptyCache, pages }, manifest: built.manifest };
  } finally {
    await rm(r2Directory, { recursive: true, force: true });
  }
}

/** What a call uses, as the mean of some. */
async function useOf(
  edge: TimedEdge,
  pid: number | undefined,
  calls: number,
  call: (i: number) => Promise<unknown>,
): Promise<RankUse> {
  await edge.reads();
  const before = processUse(pid).cpuMs;
  await timesMs(calls, call);
  const cpuMs = (processUse(pid).cpuMs - before) / calls;
  const { LOG_SAMPLE_RATE } = settingsOf({ MODELS: {} as R2Bucket });
  return { cpuMs, reads: (await edge.reads()).length / calls, logLines: LOG_SAMPLE_RATE };
}

/** Large files are read once more, to fill the data centre's cache in the background. */
async function readsUntilCached(edge: TimedEdge): Promise<number> {
  let reads = 0;
  for (let more = -1; more !== 0; reads += more) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    more = (await edge.reads()).length;
  }
  return reads;
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
