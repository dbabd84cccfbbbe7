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
import { interactionsOf, measureVariants, VARIANT_CALLS } from "./edge-scale-variants.ts";
import { drawnWorld, PER_USER, type ScaleWorld } from "./edge-scale-world.ts";
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
/** Enough for 64 bytes per item at a million items; the bench's edge has the memory for it. */
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
const AGREEMENT_LEAST = 0.99;
const ISOLATE_MB_MAX = 128;
/** Limit on the time of a call with caps and diversity, as a multiple of a plain call, by catalog. */
const SHAPING_RATIO_MAX = { "100k": 1.5, "1m": 2 };
const LOOK_EVERY_MS = 5;
const WATCHED_CALLS = 60;
/** Warm-up, since V8 optimises after a while and an isolate lives for hours. */
const WARM_MS = 10_000;
const CONNECTIONS = 16;
const CAPACITY_SECONDS = 4;
const AGREED_USERS = 20;
const AGREED_LIMIT = 100;

/**
 * The edge with catalogs of up to a million items, measured from outside over HTTP on a real workerd with a local
 * bucket. Calls alternate with onnxruntime-node scoring the same history with the same graph, so both see the same
 * load. `--items 1e6` measures one size; `--plot=edge.svg` draws times against size.
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
  for (const [label, most] of Object.entries(SHAPING_RATIO_MAX)) {
    const ratio = figures.find(({ name }) => name === `edge.rank.p50.${label}.caps_diversity`)?.ratio ?? 0;
    if (ratio > most)
      fail(`caps and diversity take ${ratio.toFixed(2)} times a plain call at ${label}, at most ${most}`);
  }
  const megabytes = figures.find(({ name }) => name === "edge.memory.1m")?.value ?? 0;
  if (megabytes > CACHE_MEGABYTES)
    fail(`${megabytes.toFixed(1)} MB of WASM and JavaScript; the budget is ${CACHE_MEGABYTES}`);
  for (const when of ["load", "calls"]) {
    const most = figures.find(({ name }) => name === `edge.memory.${when}.1m`)?.value ?? 0;
    if (most > ISOLATE_MB_MAX) fail(`${most.toFixed(1)} MB of the isolate (${when}), at most ${ISOLATE_MB_MAX}`);
  }
  return figures;
};

/** Median times by catalog size: calls on one connection, the native reference, and the variants. */
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
 * Highest memory of an isolate until its first answer: JavaScript from the debugger plus the WASM heap, which never
 * shrinks. Reads are slow here, because the debugger is only served between them.
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

/** Calls that allocate different things of the catalog's size: scores, none, and a filter's table of ids. */
const callsByKind = (i: number): readonly (readonly [query: string, body?: object])[] => [
  [userQuery(i)],
  [`?user_id=nobody-${i}`],
  ["", { interactions: [{ item_id: i }] }],
  ["", { retrieval: { item_id: { $lt: 700_000 + i } } }],
];

/** Highest memory of an isolate during sequential calls of every kind. */
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

/** One connection, one call at a time, alternating with the reference. */
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
      { name: `edge.floor.p50.${label}`, value: quantile(floorMs, 0.5), unit: "ms" }, // an answer without any work
      compared(`edge.rank.p50.${label}`, "ms", quantile(edgeMs, 0.5), quantile(nativeMs, 0.5)),
      compared(`edge.rank.p99.${label}`, "ms", quantile(edgeMs, 0.99), quantile(nativeMs, 0.99)),
      compared(`edge.cpu.${label}`, "ms", edgeCpuMs / calls, nativeCpuMs / calls),
    ];
  } finally {
    await scorer.close();
  }
}

/**
 * Compares with a Node server that ranks the same users natively, alternating, with the same client: the overhead of
 * the edge over the same service elsewhere.
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

/** Fraction of the exact best items that are served, measured with anonymous sessions. */
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

/** A filter passes twenty items, of which the user has seen nineteen; the answer is the remaining one. */
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

/** The same for a user whose record is not in memory, which adds a read of the simulated bucket. */
async function measureRecordReads(edge: TimedEdge, call: RankCall, label: string): Promise<Figure> {
  await timesMs(20, (i) => call(edge, userQuery(i)));
  const ms = await timesMs(VARIANT_CALLS, (i) => call(edge, userQuery(i)));
  return { name: `edge.rank.p50.${label}.record_read`, value: quantile(ms, 0.5), unit: "ms" };
}

/** Sixteen connections, each making its next call after an answer. */
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
 * Memory after loading: the WASM heap; JavaScript's decoded files, one answer's scores and record pages; the Worker's
 * own count for its budget; and the peak of workerd while loading, with the simulated bucket's buffers.
 */
function memoryFigures({ edge, manifest, catalog: { label, itemCount } }: Serving, growthMb: number): Figure[] {
  const loaded = lastLoad(edge);
  const files = [manifest.catalog, manifest.attributes, manifest.users?.directory, manifest.similarity];
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
