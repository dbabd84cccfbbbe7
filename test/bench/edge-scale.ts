import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { ItemIndex } from "../../shared/ids.ts";
import type { Manifest } from "../../shared/manifest.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { type Bench, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { watchIsolate } from "./edge-scale-isolate.ts";
import { type ProcessUse, processUse } from "./edge-scale-process.ts";
import {
  CACHE_MEGABYTES,
  publishWorld,
  type RankCall,
  RECORD_MEGABYTES,
  type TimedEdge,
  withEdge,
} from "./edge-scale-serving.ts";
import { drawnWorld, HISTORY_MAX, PER_USER, RARITIES, type ScaleWorld } from "./edge-scale-world.ts";
import { growthPlot } from "./growth-plot.ts";
import { withNativeServer } from "./native-server.ts";

const MB = 1e6;
const CATALOGS = [
  { label: "10k", itemCount: 10_000, calls: 300, colds: 0 },
  { label: "100k", itemCount: 100_000, calls: 300, colds: 3 },
  { label: "1m", itemCount: 1_000_000, calls: 150, colds: 3 },
] as const;
type Catalog = (typeof CATALOGS)[number];

const USERS = 20_000;
/** Enough for a byte for each of a million times 64 numbers; the edge of this bench has the memory for it. */
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
const AGREEMENT_LEAST = 0.99;
const MEMORY_MB_MAX = 110;
const ISOLATE_MB_MAX = 128;
const LOOK_EVERY_MS = 5;
const WATCHED_CALLS = 60;
/** V8 optimises what has run for a while, and an isolate lives for hours. */
const WARM_MS = 10_000;
const CONNECTIONS = 16;
const CAPACITY_SECONDS = 4;
const VARIANT_CALLS = 30;
const AGREED_USERS = 20;
const AGREED_LIMIT = 100;

/**
 * The edge on catalogs up to a million items, from outside: HTTP to a real workerd on files in a real local bucket.
 * Calls alternate with onnxruntime-node scoring the same history with the same graph, so that both meet the same load.
 * `--items 1e6` measures that size alone; `--plot=edge.svg` draws how times grow.
 */
export const edgeScale: Bench = async ({ say, fail, flags }) => {
  const only = flags.get("items");
  const figures: Figure[] = [];
  for (const catalog of CATALOGS) {
    if (only !== undefined && Number(only) !== catalog.itemCount) continue;
    say(`  a catalog of ${catalog.label} items, load ${loadavg()[0]!.toFixed(1)}`);
    figures.push(...(await measureCatalog(catalog, say)));
  }
  const plot = flags.get("plot");
  if (plot) await writeFile(plot, plotOf(figures));
  const agreement = figures.find(({ name }) => name === "edge.agreement.1m")?.value ?? 1;
  if (agreement < AGREEMENT_LEAST)
    fail(`${agreement} of the exact best hundred are served, at least ${AGREEMENT_LEAST}`);
  const megabytes = figures.find(({ name }) => name === "edge.memory.1m")?.value ?? 0;
  if (megabytes > MEMORY_MB_MAX) fail(`${megabytes.toFixed(1)} MB of WASM and JavaScript, at most ${MEMORY_MB_MAX}`);
  for (const when of ["load", "calls"]) {
    const most = figures.find(({ name }) => name === `edge.memory.${when}.1m`)?.value ?? 0;
    if (most > ISOLATE_MB_MAX) fail(`${most.toFixed(1)} MB of the isolate (${when}), at most ${ISOLATE_MB_MAX}`);
  }
  return figures;
};

/** Median times over the catalog's size: of calls by one connection, of the native reference, and of the variants. */
function plotOf(figures: readonly Figure[]): string {
  const shown: Readonly<Record<string, string>> = {
    "": "a user, 15 items",
    ".record_read": "the same, its record read from R2",
    ".limit_500": "500 items",
    ".history_100": "a session of 100",
    ".filter_0.01%": "a filter, 0.01 % pass",
    ".filter_50%": "a filter, 50 % pass",
    ".filter_worst": "the worst filter",
  };
  const points = (nameAt: (size: string) => string, measureOf = (figure: Figure) => figure.value) =>
    CATALOGS.flatMap(({ label: size, itemCount }) => {
      const figure = figures.find((candidate) => candidate.name === nameAt(size));
      return figure ? [{ size: itemCount, value: measureOf(figure) }] : [];
    });
  const native = points(
    (label) => `edge.rank.p50.${label}`,
    ({ value, reference }) => reference ?? value,
  );
  const series = Object.entries(shown).map(([suffix, name]) => ({
    name,
    points: points((label) => `edge.rank.p50.${label}${suffix}`),
  }));
  const text = { title: "Median time of a rank call, from outside", sizes: "items in the catalog", unit: "ms" };
  return growthPlot([...series, { name: "onnxruntime-node, scores only", points: native }], text);
}

/** All figures of one size. */
async function measureCatalog(catalog: Catalog, say: (line: string) => void): Promise<Figure[]> {
  const { label, itemCount, colds } = catalog;
  const r2Directory = await mkdtemp(join(tmpdir(), "bench-edge-"));
  try {
    const world = drawnWorld({ label, itemCount, userCount: USERS, weightBytesMax: WEIGHT_BYTES_MAX });
    const { built, call } = await publishWorld(r2Directory, world);
    const { pages, directory } = built.manifest.users!;
    const recordBytes = [...pages, directory].reduce((sum, { size }) => sum + size, 0) / USERS;
    say("  published");
    const served = await withEdge({ r2Directory }, (edge, pid) =>
      measureServing({ edge, pid, call, world, catalog, manifest: built.manifest }),
    );
    say("  served");
    const read = await withEdge({ r2Directory, vars: { RECORD_MEGABYTES: 0 } }, (edge) =>
      measureRecordReads(edge, call, label),
    );
    const cold: number[] = [];
    for (let i = 0; i < colds; i++) {
      cold.push(
        await withEdge({ r2Directory }, async (edge) => (await timesMs(1, () => call(edge, userQuery(i))))[0]!),
      );
    }
    const isolate = { r2Directory, call, label };
    const inIsolate = colds ? [await measureLoading(isolate), await measureCalls(isolate)] : [];
    return [
      ...served,
      read,
      ...inIsolate,
      ...(colds ? [{ name: `edge.cold.${label}`, value: quantile(cold, 0.5), unit: "ms" }] : []),
      ...(label === "1m" ? [{ name: "edge.records.bytes", value: recordBytes, unit: "B/user" }] : []),
    ];
  } finally {
    await rm(r2Directory, { recursive: true, force: true });
  }
}

type Loading = { readonly r2Directory: string; readonly call: RankCall; readonly label: string };

/**
 * The most that an isolate takes by itself until its first answer: of JavaScript, by its debugger, and the WASM heap as it
 * is then, for it never shrinks. Reads are slow, because the debugger is let in between them only.
 */
function measureLoading({ r2Directory, call, label }: Loading): Promise<Figure> {
  return withEdge({ r2Directory, isInspected: true, vars: { READ_TIMEOUT_MS: 6000 } }, async (edge) => {
    const watch = await watchIsolate(edge, LOOK_EVERY_MS);
    await edge.inject({ keys: "blobs", kind: "slow" });
    await call(edge, userQuery(0));
    const { most } = watch.scriptMb();
    watch.stop();
    return { name: `edge.memory.load.${label}`, value: most + lastLoad(edge).heap_bytes / MB, unit: "MB" };
  });
}

/** Each makes something else of the catalog's size: scores by history, none at all, a filter's table of the ids. */
const callsByKind = (i: number): readonly (readonly [query: string, body?: object])[] => [
  [userQuery(i)],
  [`?user_id=nobody-${i}`],
  ["", { interactions: [{ item_id: i }] }],
  ["", { retrieval: { item_id: { $lt: 700_000 + i } } }],
];

/** The most that an isolate takes by itself while calls of every kind come, one after another. */
function measureCalls({ r2Directory, call, label }: Loading): Promise<Figure> {
  return withEdge({ r2Directory, isInspected: true }, async (edge) => {
    await call(edge, userQuery(0));
    const watch = await watchIsolate(edge, LOOK_EVERY_MS);
    for (const kind of callsByKind(0).keys()) await timesMs(WATCHED_CALLS, (i) => call(edge, ...callsByKind(i)[kind]!));
    const { most } = watch.scriptMb();
    watch.stop();
    return { name: `edge.memory.calls.${label}`, value: most + lastLoad(edge).heap_bytes / MB, unit: "MB" };
  });
}

type Serving = {
  readonly edge: TimedEdge;
  readonly pid: number | undefined;
  readonly call: RankCall;
  readonly world: ScaleWorld;
  readonly catalog: Catalog;
  readonly manifest: Manifest;
};

async function measureServing(serving: Serving): Promise<Figure[]> {
  const { edge, pid, call, world, catalog } = serving;
  const { label } = catalog;
  await edge.call("/health/live");
  const before = processUse(pid);
  await call(edge, userQuery(0));
  const memory = memoryFigures(serving, processUse(pid).peakMb - before.residentMb);
  const times = [...(await measureTimes(serving)), ...(await measureBesideServer(serving))];
  await checkOneOfTwenty(serving);
  const recall = label === "1m" ? [await measureAgreement(serving)] : [];
  const table = await measureVariants(serving);
  const capacity = await measureCapacity(serving);
  return [...times, ...capacity, ...memory, ...recall, ...table, ...growthFigure(world, before, processUse(pid))];
}

/** One connection, one call at a time, in turn with the reference. */
async function measureTimes({ edge, pid, call, world, catalog }: Serving): Promise<Figure[]> {
  const { label, calls } = catalog;
  const scorer = await openScorer(world.exported, world.itemCount);
  const score = (user: number) =>
    scorer.score({ items: world.historyOf(user, PER_USER), agesDays: new Array<number>(PER_USER).fill(1) });
  try {
    const [edgeMs, nativeMs]: [number[], number[]] = [[], []];
    let [edgeCpuMs, nativeCpuMs] = [0, 0];
    const warmUntilMs = performance.now() + WARM_MS;
    for (let i = 0; performance.now() < warmUntilMs; i++)
      await Promise.all([call(edge, userQuery(i % calls)), score(i % calls)]);
    for (let i = 0; i < calls; i++) {
      const cpu = processUse(pid).cpuMs;
      edgeMs.push(...(await timesMs(1, () => call(edge, userQuery(i)))));
      edgeCpuMs += processUse(pid).cpuMs - cpu;
      const own = process.cpuUsage();
      nativeMs.push(...(await timesMs(1, () => score(i))));
      const { user, system } = process.cpuUsage(own);
      nativeCpuMs += (user + system) / 1000;
    }
    const floorMs = await timesMs(calls, () => edge.http.call("/v0"));
    return [
      { name: `edge.floor.p50.${label}`, value: quantile(floorMs, 0.5), unit: "ms" }, // of an answer without any work
      compared(`edge.rank.p50.${label}`, "ms", quantile(edgeMs, 0.5), quantile(nativeMs, 0.5)),
      compared(`edge.rank.p99.${label}`, "ms", quantile(edgeMs, 0.99), quantile(nativeMs, 0.99)),
      compared(`edge.cpu.${label}`, "ms", edgeCpuMs / calls, nativeCpuMs / calls),
    ];
  } finally {
    await scorer.close();
  }
}

/**
 * Next to a Node server that ranks the same users natively, in turn with it, by the same client: what the edge costs more than the
 * same service elsewhere would, once both are asked from outside.
 */
async function measureBesideServer({ edge, call, catalog: { label, itemCount, calls } }: Serving): Promise<Figure[]> {
  return withNativeServer({ itemCount, weightBytesMax: WEIGHT_BYTES_MAX }, async (nativeRank) => {
    const [edgeMs, nativeMs]: [number[], number[]] = [[], []];
    const warmUntilMs = performance.now() + WARM_MS;
    for (let i = 0; performance.now() < warmUntilMs; i++) {
      const query = userQuery(i % calls);
      const [ours, theirs] = await Promise.all([call(edge, query), nativeRank(query)]);
      if (ours.join() !== theirs.join() && label !== "1m")
        throw new Error(`The edge answers [${ours}] to ${query} and the native server [${theirs}].`);
    }
    for (let i = 0; i < calls; i++) {
      edgeMs.push(...(await timesMs(1, () => call(edge, userQuery(i)))));
      nativeMs.push(...(await timesMs(1, () => nativeRank(userQuery(i)))));
    }
    return [0.5, 0.99].map((share) =>
      compared(`edge.beside_server.p${100 * share}.${label}`, "ms", quantile(edgeMs, share), quantile(nativeMs, share)),
    );
  });
}

/** Share of the exact best items that are served; each served answer after the same anonymous session. */
async function measureAgreement({ edge, call, world }: Serving): Promise<Figure> {
  let found = 0;
  for (let user = 0; user < AGREED_USERS; user++) {
    const history = world.historyOf(user, PER_USER);
    const exact = new Set(world.exactBest(history, AGREED_LIMIT));
    const served = await call(edge, "", { interactions: interactionsOf(history), limit: AGREED_LIMIT });
    found += served.filter((id) => exact.has((Number(id) - 1) as ItemIndex)).length;
  }
  return { name: `edge.agreement.${world.label}`, value: found / (AGREED_USERS * AGREED_LIMIT), unit: "recall@100" };
}

/** A filter lets twenty items pass and the user has seen nineteen of them: the one is the answer. */
async function checkOneOfTwenty({ edge, call, world: { historyOf, itemCount } }: Serving): Promise<void> {
  for (let user = 0; user < 20; user++) {
    const history = historyOf(user, PER_USER);
    const seen = history.slice(0, 19);
    const unseen = [1, 2, 3]
      .map((step) => (history[19]! + step) % itemCount)
      .find((item) => !history.includes(item as ItemIndex))!;
    const $in = [...seen, unseen].map((item) => item + 1);
    const found = await call(edge, "", { user_id: String(user), retrieval: { item_id: { $in } } });
    if (found.join() !== String(unseen + 1))
      throw new Error(`User ${user} is to get ${unseen + 1} alone, not [${found}].`);
  }
}

/** One item passes, so all are judged, by 2^n + 2n clauses either way round; more than nine are refused everywhere. */
const heavyFilter = (n: number) => ({
  $and: [
    ...Array.from({ length: n }, (_, i) => ({
      $or: [{ rarity: { $gt: RARITIES + i } }, { rarity: { $gte: i }, item_id: { $lt: i + 2 } }],
    })),
    { $or: Array.from({ length: n }, (_, i) => ({ rarity: { $gte: i }, item_id: { $gte: i } })) },
  ],
});
const HEAVY_MOST = 9;

/** The heaviest that is not refused for a catalog of this size. */
async function worstFilter({ edge, call }: Serving): Promise<object> {
  for (let n = HEAVY_MOST; n > 0; n--) {
    const retrieval = heavyFilter(n);
    const refusal = await call(edge, "", { user_id: "0", retrieval }).then(() => undefined, String);
    if (refusal === undefined) return retrieval;
    if (!refusal.includes("filter_too_large")) throw new Error(refusal);
  }
  throw new Error("Every filter was refused.");
}

/** The same as a call of a user whose page is not in memory: with a read of the simulated bucket. */
async function measureRecordReads(edge: TimedEdge, call: RankCall, label: string): Promise<Figure> {
  await timesMs(20, (i) => call(edge, userQuery(i)));
  const ms = await timesMs(VARIANT_CALLS, (i) => call(edge, userQuery(i)));
  return { name: `edge.rank.p50.${label}.record_read`, value: quantile(ms, 0.5), unit: "ms" };
}

/** How the time grows with the limit, the history and what a filter lets pass. */
async function measureVariants(serving: Serving): Promise<Figure[]> {
  const {
    edge,
    call,
    world: { label, historyOf },
  } = serving;
  const worst = await worstFilter(serving);
  const session = (length: number) => (i: number) => ({ interactions: interactionsOf(historyOf(i, length)) });
  const passing = (share: number) => (i: number) => ({
    user_id: String(i),
    retrieval: { rarity: { $lt: Math.round(share * RARITIES) } },
  });
  const variants: readonly (readonly [string, (i: number) => object])[] = [
    ...[15, 100, 500].map((limit) => [`limit_${limit}`, (i: number) => ({ user_id: String(i), limit })] as const),
    ...[1, 20, HISTORY_MAX].map((length) => [`history_${length}`, session(length)] as const),
    ...[0.0001, 0.01, 0.5].map((share) => [`filter_${100 * share}%`, passing(share)] as const),
    ["filter_worst", (i: number) => ({ user_id: String(i), retrieval: worst })],
  ];
  const figures: Figure[] = [];
  for (const [name, bodyOf] of variants) {
    await call(edge, "", bodyOf(0));
    const ms = await timesMs(VARIANT_CALLS, (i) => call(edge, "", bodyOf(i)));
    figures.push({ name: `edge.rank.p50.${label}.${name}`, value: quantile(ms, 0.5), unit: "ms" });
  }
  return figures;
}

/** Sixteen connections, each with the next call as soon as the last was answered. */
async function measureCapacity({ edge, pid, call, catalog: { label } }: Serving): Promise<Figure[]> {
  const ms: number[] = [];
  const begin = performance.now();
  const { cpuMs } = processUse(pid);
  const connection = async (first: number) => {
    for (let i = first; performance.now() - begin < CAPACITY_SECONDS * 1000; i += CONNECTIONS)
      ms.push(...(await timesMs(1, () => call(edge, userQuery(i)))));
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, i) => connection(i)));
  const seconds = (performance.now() - begin) / 1000;
  return [
    { name: `edge.capacity.${label}`, value: ms.length / seconds, unit: "ranks/s" },
    {
      name: `edge.capacity_per_cpu.${label}`,
      value: (1000 * ms.length) / (processUse(pid).cpuMs - cpuMs),
      unit: "ranks/s",
    },
    { name: `edge.rank16.p50.${label}`, value: quantile(ms, 0.5), unit: "ms" },
    { name: `edge.rank16.p99.${label}`, value: quantile(ms, 0.99), unit: "ms" },
  ];
}

type Loaded = { readonly heap_bytes: number; readonly used_bytes: number };

function lastLoad({ log }: TimedEdge): Loaded {
  const line = log.findLast((text) => text.includes("version_loaded"));
  if (line === undefined) throw new Error(`The Worker did not say that it loaded a version: ${log.join("\n")}`);
  return JSON.parse(line) as Loaded;
}

/**
 * After a load: the WASM heap as it is, and with it what JavaScript holds, which are the decoded files (views of their
 * bytes), one answer's scores, and in time as many pages of records as there is room for; what the Worker counts for
 * its budget; and what workerd took more at most while it loaded, the simulated bucket's buffers included.
 */
function memoryFigures({ edge, manifest, catalog: { label, itemCount } }: Serving, growthMb: number): Figure[] {
  const loaded = lastLoad(edge);
  const files = [manifest.catalog, manifest.attributes, manifest.users?.directory];
  const scriptBytes = files.reduce((sum, file) => sum + (file?.size ?? 0), Float32Array.BYTES_PER_ELEMENT * itemCount);
  const pagesMb = Math.max(0, Math.min(RECORD_MEGABYTES, CACHE_MEGABYTES - loaded.used_bytes / MB));
  return [
    { name: `edge.memory.${label}`, value: (loaded.heap_bytes + scriptBytes) / MB + pagesMb, unit: "MB" },
    { name: `edge.memory.records.${label}`, value: pagesMb, unit: "MB" },
    { name: `edge.memory.counted.${label}`, value: loaded.used_bytes / MB, unit: "MB" },
    { name: `edge.memory.wasm.${label}`, value: loaded.heap_bytes / MB, unit: "MB" },
    { name: `edge.memory.load_peak.${label}`, value: growthMb, unit: "MB" },
  ];
}

const growthFigure = ({ label }: ScaleWorld, before: ProcessUse, after: ProcessUse): Figure[] => [
  { name: `edge.memory.process.${label}`, value: after.residentMb - before.residentMb, unit: "MB" },
];

const userQuery = (i: number) => `?user_id=${(i * 7919) % USERS}&limit=15`;
const interactionsOf = (history: readonly ItemIndex[]) => history.map((item) => ({ item_id: item + 1 }));
