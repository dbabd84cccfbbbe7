import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { activate } from "../../trainer/store/versions.ts";
import { type Bench, type BenchContext, type Figure, quantile, timesMs } from "./bench.ts";
import { publishWorld, type RankCall, type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld } from "./edge-scale-world.ts";

const DELAYS_MS = [5, 60, 200];
const ITEMS = 10_000;
const USERS = 20_000;
/** Enough for 64 bytes per item at a million items; up to 300,000 items have float32. */
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
/** Calls of a warm isolate, each after the records of keys, pointers and erased users are stale. */
const IDLE_CALLS = 12;
const VARS = { KEY_CACHE_SECONDS: 1, POINTER_CACHE_SECONDS: 1 };
const STALE_MS = 2100;
/** Longer than a new version may take to show. */
const LONG_IDLE_MS = 12_000;
/** New isolates per state of the cache. */
const ISOLATES = 8;

/** The bounds hold for a bucket at this distance. */
const BOUND_DELAY_MS = 200;
const CACHE_MORE_MS_MAX = 60;
const NEW_ISOLATE_MS_MAX = 700;

type World = {
  readonly r2Directory: string;
  readonly call: RankCall;
  readonly delayMs: number;
  /** Two versions of the model. The second one is live. */
  readonly versions: readonly [string, string];
};

/**
 * Rank calls of known users while every read of R2 takes 5, 60 and 200 ms. `--items 1e5` selects another catalog, `--delays 200` other
 * distances, and `--states all_cold` some states. A new isolate has started, but has read nothing.
 */
export const farBucket: Bench = async (context) => {
  const itemCount = Number(context.flags.get("items") ?? ITEMS);
  const delays = context.flags.get("delays")?.split(",").map(Number) ?? DELAYS_MS;
  const r2Directory = await mkdtemp(join(tmpdir(), "bench-far-"));
  try {
    const drawn = drawnWorld({ label: "far", itemCount, userCount: USERS, weightBytesMax: WEIGHT_BYTES_MAX });
    const first = await publishWorld(r2Directory, drawn);
    const { built, call } = await publishWorld(r2Directory, drawn);
    const versions = [first.built.version, built.version] as const;
    const figures: Figure[] = [];
    for (const delayMs of delays) figures.push(...(await measure({ r2Directory, call, delayMs, versions }, context)));
    return figures;
  } finally {
    await rm(r2Directory, { recursive: true, force: true });
  }
};

async function measure(world: World, context: BenchContext): Promise<Figure[]> {
  const { say, fail } = context;
  const states = {
    record_in_memory: () => idleTimes(world, 8),
    record_in_cache: () => idleTimes(world, 0),
    new_version: () => newVersionTimes(world, context),
    new_isolate: () => newIsolateTimes(world, async () => {}),
    all_cold: () => newIsolateTimes(world, () => emptyCache(world)),
    all_cold_likely: () => newIsolateTimes(world, () => emptyCache(world), { LIKELY_CUSTOMER: "acme" }),
  };
  const only = context.flags.get("states")?.split(",");
  const times: Partial<Record<keyof typeof states, number[]>> = {};
  for (const name of Object.keys(states) as (keyof typeof states)[])
    if (only?.includes(name) !== false) times[name] = await states[name]();
  const at = (name: keyof typeof times, fraction: number) => quantile(times[name] ?? [], fraction);
  for (const name of Object.keys(times) as (keyof typeof times)[])
    say(
      `  R2 at ${world.delayMs} ms, ${name}: p50 ${at(name, 0.5).toFixed(0)} ms, p95 ${at(name, 0.95).toFixed(0)} ms`,
    );
  if (world.delayMs === BOUND_DELAY_MS && only === undefined) {
    const moreMs = at("record_in_cache", 0.5) - at("record_in_memory", 0.5);
    if (moreMs > CACHE_MORE_MS_MAX) fail(`a record in the cache takes ${moreMs} ms more than one in memory`);
    if (at("new_isolate", 0.95) > NEW_ISOLATE_MS_MAX) fail(`a new isolate takes ${at("new_isolate", 0.95)} ms`);
  }
  return Object.keys(times).flatMap((name) =>
    [50, 95].map((percent) => ({
      name: `far_bucket.${world.delayMs}ms.${name}.p${percent}`,
      value: at(name as keyof typeof times, percent / 100),
      unit: "ms",
    })),
  );
}

/** Calls of one isolate that has idled before each. */
async function idleTimes(world: World, recordMegabytes: number): Promise<number[]> {
  const vars = { ...VARS, RECORD_MEGABYTES: recordMegabytes };
  return withEdge({ r2Directory: world.r2Directory, hasCache: true, vars }, async (edge) => {
    await world.call(edge, USER);
    await untilCached(edge);
    await edge.inject({ keys: "", kind: "slow", slowMs: world.delayMs });
    const times: number[] = [];
    for (let i = 0; i < IDLE_CALLS; i++) {
      await sleep(STALE_MS);
      times.push(...(await timesMs(1, () => world.call(edge, USER))));
    }
    return times;
  });
}

/** First calls of an isolate that has idled while another version went live, whose files are in the data centre's cache. */
async function newVersionTimes({ r2Directory, delayMs, versions }: World, { fail }: BenchContext): Promise<number[]> {
  return withEdge({ r2Directory, hasCache: true }, async (edge) => {
    const times: number[] = [];
    for (let i = 0; i < ISOLATES; i++) {
      const version = versions[i % 2]!;
      await activate(edge.store, { customer: "acme", modelName: "scale" }, { version, nowMs: Date.now() });
      await edge.idle(LONG_IDLE_MS);
      await edge.inject({ keys: "", kind: "slow", slowMs: i < 2 ? 0 : delayMs });
      let served: string | null = null;
      const ask = async () => {
        served = (await edge.call(`/v0/models/scale/rank${USER}`)).headers.get("x-model-version");
      };
      const [ms] = await timesMs(1, ask);
      if (served !== version) fail(`after idle time, the first call is answered by ${served}; ${version} is live`);
      await untilCached(edge);
      if (i >= 2) times.push(ms!);
    }
    return times;
  });
}

/** First calls of isolates that have started. The cache on disk is that of a data centre, and outlives them. */
async function newIsolateTimes(world: World, prepare: () => Promise<void>, vars = {}): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < ISOLATES; i++) {
    await prepare();
    await withEdge({ r2Directory: world.r2Directory, hasCache: true, vars }, async (edge) => {
      await edge.inject({ keys: "", kind: "slow", slowMs: world.delayMs });
      await edge.http.call("/health/live", {});
      times.push(...(await timesMs(1, () => world.call(edge, USER))));
    });
  }
  return times;
}

const USER = "?user_id=7&limit=15";
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const emptyCache = ({ r2Directory }: World) => rm(join(r2Directory, "cache"), { recursive: true, force: true });

/** Waits until the Worker reads nothing for a second: then the cache has what the isolate has read. */
async function untilCached(edge: TimedEdge): Promise<void> {
  do await sleep(1000);
  while ((await edge.reads()).length > 0);
}
