import { mkdtemp, rm } from "node:fs/promises";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { EdgeWorld } from "../fixtures/edge-world.ts";
import { type Bench, type BenchContext, type Figure, quantile } from "./bench.ts";
import { type Burst, burstsOf } from "./bursts.ts";
import { type Piece, slowestPace, stolenMs, watchPace } from "./core-pace.ts";
import { type IsolateWatch, watchIsolate } from "./edge-scale-isolate.ts";
import { type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld, PER_USER, RARITIES, type ScaleWorld } from "./edge-scale-world.ts";
import { EVERY_CORE, keepToCores, OTHER_CORES, OWN_CORE } from "./keep-to-cores.ts";
import type { LoadCall } from "./load-check.ts";
import { type Disturbances, disturb } from "./load-disturbances.ts";
import { type Judge, startJudge, WORLD } from "./load-judge.ts";
import { closedLoop, OUTSTANDING_MAX, openLoop } from "./load-loops.ts";
import { type MortalTrainer, mortalTrainer } from "./load-trainer.ts";
import { type OwnStalls, watchOwnStalls } from "./own-stalls.ts";

const USERS = WORLD.userCount;
const SECONDS = 600;
const CONNECTIONS = 16;
const CAPACITY_SECONDS = 5;
const LOAD_SHARE = 0.8;
const OVERLOAD_SECONDS = 10;
/** An overload begins in the midst of ordinary load, not with what opening its connections took. */
const BEFORE_SECONDS = 3;
const OVERLOAD_CONNECTIONS = 150;
const MEMORY_EVERY_MS = 500;
const MEMORY_WINDOW_MS = 30_000;
const MEMORY_WINDOWS_LEAST = 4;
const CACHES_FILL_MS = 60_000;
const MEMORY_GROWTH_MB_MAX = 10;
const REFUSALS_TOLD = 3;
const SLOW_MS = 200;
const BURST_GAP_MS = 500;

/**
 * Mixed rank calls at 80 % of the measured capacity while versions are published, the trainer is killed and restarted,
 * and keys come and go; every answer is checked against a native reference. Then overload: twice the capacity, and as much
 * as 150 connections can ask. `--seconds 60` for less.
 */
export const load: Bench = async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "bench-load-"));
  const world = drawnWorld(WORLD);
  const trainer = await mortalTrainer();
  const vars = { TRAINER_URL: trainer.url, QUEUE_MS_MAX: 140 };
  try {
    await trainer.start();
    // The bucket is another workerd's, as R2 is on other machines: neither upload nor read takes the isolate's thread or core.
    return await withEdge({ r2Directory: join(folder, "r2") }, (bucket, bucketPid) => {
      const farBucketUrl = bucket.workerUrl;
      return withEdge({ farBucketUrl, vars, isInspected: true }, async (edge, edgePid) => {
        const judge = await startJudge(bucket.s3, join(folder, "work"));
        setPriority(judge.pid, constants.priority.PRIORITY_LOW); // it may judge later
        const others = [bucketPid!, judge.pid];
        return underLoad({ edge, edgePid: edgePid!, others, bucket, world, judge, trainer, context });
      });
    });
  } finally {
    await trainer.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

type Setting = {
  readonly edge: TimedEdge;
  readonly edgePid: number;
  /** Of what has the bucket and what judges. */
  readonly others: readonly number[];
  /** The edge's, for keys. */
  readonly bucket: EdgeWorld;
  readonly world: ScaleWorld;
  readonly judge: Judge;
  readonly trainer: MortalTrainer;
  readonly context: BenchContext;
};

type Tally = {
  /** When it was begun, as all its times on the clock of performance.now(). */
  readonly beginMs: number;
  /** Of the calls that were ranked. */
  readonly ms: number[];
  readonly statuses: Map<number, number>;
  /** When calls were not ranked, and when they were ranked slowly. */
  readonly failedAtMs: number[];
  readonly slowAtMs: number[];
  /** What some of them were told. */
  readonly refusals: Set<string>;
};
const emptyTally = (): Tally => ({
  beginMs: performance.now(),
  ms: [],
  statuses: new Map(),
  failedAtMs: [],
  slowAtMs: [],
  refusals: new Set(),
});

async function underLoad(setting: Setting): Promise<Figure[]> {
  const { edge, bucket, world, judge, context } = setting;
  const seconds = Number(context.flags.get("seconds") ?? SECONDS);
  await judge.publish(0);
  const { key } = await bucket.issueKey();
  const random = seededRandom(1);
  const ask = (tally: Tally) => askAndCheck(edge, { key, call: drawnCall(world, random), judge: judge.judge, tally });

  const together = apart(setting); // the capacity is that of the core which it has under load
  const warm = emptyTally();
  await closedLoop(() => ask(warm), { connections: CONNECTIONS, seconds: CAPACITY_SECONDS });
  const capacity = warm.ms.length / CAPACITY_SECONDS;
  context.say(`  ${capacity.toFixed(0)} ranks/s; ${seconds} s at ${LOAD_SHARE} of it`);

  const tally = emptyTally();
  const trouble = disturb({ ...setting, key });
  const pace = await watchPace(OWN_CORE);
  const own = watchOwnStalls();
  const memory = await watchMemory(setting);
  const leftOut = await openLoop(() => ask(tally), { perSecond: LOAD_SHARE * capacity, seconds, say: context.say });
  const memoryFigures = memory.end();
  const disturbances = await trouble.end();
  for (const refusal of tally.refusals) context.say(`  refused: ${refusal}`);
  for (const line of edge.log.filter((text) => text.includes("ranks_refused")).slice(0, REFUSALS_TOLD))
    context.say(`  ${line}`);
  const refusals = refusalsInTime(tally, { ...disturbances, pieces: pace.pieces });
  for (const { line } of refusals) context.say(line);
  const inTakenTime = refusals.reduce((sum, { count, isTaken }) => sum + (isTaken ? count : 0), 0);
  const inOwnTime = tally.failedAtMs.length - inTakenTime;
  if (inOwnTime > 0) context.fail(`${inOwnTime} calls were refused while the host left the core to the isolate`);
  const course = { fromMs: tally.beginMs, toMs: performance.now() };
  const slowest = slowestPace(pace.pieces, course);
  const stolen = stolenMs(pace.pieces, course) / (course.toMs - course.fromMs);
  const saying = { say: context.say, own };
  sayWhenSlow("mixed", tally, saying);
  context.say(`  statuses ${JSON.stringify([...tally.statuses])}`);

  await openConnections(edge);
  await openLoop(() => ask(emptyTally()), {
    perSecond: LOAD_SHARE * capacity,
    seconds: BEFORE_SECONDS,
    say: context.say,
  });
  const double = emptyTally();
  await openLoop(() => ask(double), { perSecond: 2 * capacity, seconds: OVERLOAD_SECONDS, say: context.say });
  sayWhenSlow("double", double, saying);
  const over = emptyTally();
  await closedLoop(() => ask(over), { connections: OVERLOAD_CONNECTIONS, seconds: OVERLOAD_SECONDS });
  sayWhenSlow("overload", over, saying);
  pace.stop();
  own.stop();
  const live = await memory.live();
  together();
  context.say("  judging the answers");
  await judge.end();
  const faults = [...judge.faults, ...disturbances.faults];
  for (const fault of faults.slice(0, 10)) context.say(`  WRONG: ${fault}`);
  if (faults.length > 0) context.fail(`${faults.length} wrong answers`);
  return [
    ...loadFigures(tally, { capacity, wrong: faults.length, disturbances }),
    { name: "load.left_out", value: leftOut, unit: "share" },
    { name: "load.failed.taken", value: inTakenTime, unit: "" },
    ...memoryFigures,
    live,
    { name: "load.pace.stolen", value: stolen, unit: "share" },
    ...(slowest === undefined ? [] : [{ name: "load.pace.slowest", value: slowest, unit: "of the usual" }]),
    ...overloadFigures("load.double", double),
    ...overloadFigures("load.overload", over),
  ];
}

/**
 * Gives the isolate's thread a core for itself: in production the trainer that is killed and started is on another machine, and two that
 * share the isolate's core are a lack of capacity, not a fault. V8's helpers, which collect garbage beside it, are kept off it, as there.
 * Gives the function that lets all have all cores again.
 */
function apart({ edgePid, others, context }: Setting): () => void {
  const all = [edgePid, process.pid, ...others]; // with what they start, the trainer above all
  const keep = (edgeCores: string, otherCores: string) =>
    [...all.map((pid) => keepToCores(pid, otherCores)), keepToCores(edgePid, edgeCores, "main")].every(Boolean);
  if (!keep(OWN_CORE, OTHER_CORES)) context.say("  the isolate shares its core: no taskset, or one core only");
  return () => void keep(EVERY_CORE, EVERY_CORE);
}

type MemoryWatch = {
  /** Of the time since it began. */
  end(): Figure[];
  /** What remains now; to be called when all calls are over, since it holds up the thread. */
  live(): Promise<Figure>;
};

/**
 * The isolate's own memory while the load lasts, JavaScript's and the WASM heap as it was when a version was loaded last. Of
 * what is sampled the least is near what remains when garbage was collected: in the earlier and the later half of the time once
 * caches are full, and its slope by windows longer than V8 lets garbage lie. And the most.
 */
async function watchMemory({ edge, context }: Setting): Promise<MemoryWatch> {
  const watch: IsolateWatch = await watchIsolate(edge, MEMORY_EVERY_MS);
  const begin = performance.now();
  const windows: { readonly minute: number; readonly mb: number }[] = [];
  let most = 0;
  /** Since the last look. */
  const leastMb = () => {
    const [script, heap] = [watch.scriptMb(), heapMb(edge)];
    most = Math.max(most, script.most + heap);
    return script.least + heap;
  };
  const note = () => windows.push({ minute: (performance.now() - begin) / 60_000, mb: leastMb() });
  const timer = setInterval(note, MEMORY_WINDOW_MS);
  return {
    end() {
      clearInterval(timer);
      leastMb(); // a part of a window counts for the most alone
      const mostFigure: Figure = { name: "load.memory.most", value: most, unit: "MB" };
      const full = windows.slice(CACHES_FILL_MS / MEMORY_WINDOW_MS);
      if (full.length < MEMORY_WINDOWS_LEAST) return [mostFigure];
      const middle = Math.floor(full.length / 2);
      const leastOf = (half: typeof full) => Math.min(...half.map(({ mb }) => mb));
      const [start, end] = [leastOf(full.slice(0, middle)), leastOf(full.slice(middle))];
      if (end - start > MEMORY_GROWTH_MB_MAX)
        context.fail(`memory grew from ${start.toFixed(0)} to ${end.toFixed(0)} MB`);
      return [
        { name: "load.memory.start", value: start, unit: "MB" },
        { name: "load.memory.end", value: end, unit: "MB" },
        { name: "load.memory.slope", value: slopeOf(full), unit: "MB/min" },
        mostFigure,
      ];
    },
    async live() {
      const value = (await watch.liveMb()) + heapMb(edge);
      watch.stop();
      return { name: "load.memory.live", value, unit: "MB" };
    },
  };
}

function heapMb(edge: EdgeWorld): number {
  const line = edge.log.findLast((text) => text.includes("version_loaded"));
  return line ? (JSON.parse(line) as { heap_bytes: number }).heap_bytes / 1e6 : 0;
}

/** Of the straight line nearest to the points. */
function slopeOf(points: readonly { readonly minute: number; readonly mb: number }[]): number {
  const mean = (of: (point: { minute: number; mb: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [minute, mb] = [mean((point) => point.minute), mean((point) => point.mb)];
  const spread = mean((point) => (point.minute - minute) ** 2);
  return spread === 0 ? 0 : mean((point) => (point.minute - minute) * (point.mb - mb)) / spread;
}

function drawnCall(world: ScaleWorld, random: () => number): LoadCall {
  const kind = random();
  const user = Math.floor(random() * USERS);
  const limit = random() < 0.1 ? 100 : 15;
  const session = kind < 0.2 ? world.historyOf(user + USERS, 1 + Math.floor(random() * PER_USER)) : [];
  const rarityBelow = kind > 0.8 ? [1, 100, RARITIES / 2][Math.floor(random() * 3)]! : null;
  return { user: kind < 0.1 || (kind > 0.5 && kind < 0.55) ? null : user, session, rarityBelow, limit };
}

type Question = {
  readonly key: string;
  readonly call: LoadCall;
  readonly judge: Judge["judge"];
  readonly tally: Tally;
};

async function askAndCheck(edge: TimedEdge, { key, call, judge, tally }: Question): Promise<void> {
  const { user, session, rarityBelow, limit } = call;
  const user_id = user === null ? "nobody" : String(user);
  const begin = performance.now();
  const headers = { "x-api-key": key };
  const { status, text, header } =
    session.length === 0 && rarityBelow === null
      ? await edge.http.call(`/v0/models/scale/rank?user_id=${user_id}&limit=${limit}`, { headers })
      : await edge.http.call("/v0/models/scale/rank", {
          headers,
          body: {
            user_id,
            limit,
            interactions: session.map((item) => ({ item_id: item + 1 })),
            ...(rarityBelow !== null && { retrieval: { rarity: { $lt: rarityBelow } } }),
          },
        });
  const tookMs = performance.now() - begin;
  tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
  if (status !== 200) {
    tally.failedAtMs.push(performance.now());
    if (tally.refusals.size < REFUSALS_TOLD) tally.refusals.add(text.slice(0, 300));
    return;
  }
  tally.ms.push(tookMs);
  if (tookMs > SLOW_MS) tally.slowAtMs.push(performance.now());
  judge({ version: header("x-model-version") ?? "none", call, body: text });
}

/** As many connections as calls may wait: in production they end at what stands before the isolate, here each new one takes its thread. */
async function openConnections(edge: TimedEdge): Promise<void> {
  await Promise.all(Array.from({ length: OUTSTANDING_MAX }, () => edge.http.call("/health/live")));
}

type Circumstances = { readonly publishedAtMs: readonly number[]; readonly pieces: readonly Piece[] };

type Refusals = {
  readonly line: string;
  readonly count: number;
  /** Whether the host kept so much of the core for others that what was left is less than what was asked for. */
  readonly isTaken: boolean;
};

/** When calls were refused, how long after the last version was there to be opened, and what the isolate's core was then. */
function refusalsInTime({ failedAtMs, beginMs }: Tally, { publishedAtMs, pieces }: Circumstances): Refusals[] {
  return burstsOf(failedAtMs, BURST_GAP_MS).map((burst) => {
    const { fromMs, toMs, count } = burst;
    const published = publishedAtMs.findLast((at) => at < fromMs);
    const after = published === undefined ? "" : `, ${inSeconds(fromMs - published)} after a version was published`;
    const around = { fromMs: fromMs - 1000, toMs: toMs + 200 };
    const pace = slowestPace(pieces, around);
    const taken = stolenMs(pieces, around);
    const isTaken = taken > (1 - LOAD_SHARE) * (around.toMs - around.fromMs);
    const core =
      pace === undefined ? "" : `, the core at ${pace.toFixed(2)} of its pace and ${taken} ms of it taken by the host`;
    return { line: `  ${whenOf(burst, beginMs)}: ${count} refused${after}${core}`, count, isTaken };
  });
}

/** When calls were slow, and for how long this process was held up just then, which makes calls slow that are not. */
function sayWhenSlow(phase: string, { slowAtMs, beginMs }: Tally, { say, own }: Saying): void {
  for (const burst of burstsOf(slowAtMs, BURST_GAP_MS)) {
    const ownMs = own.longestMs({ fromMs: burst.fromMs - SLOW_MS, toMs: burst.toMs });
    const held = ownMs === 0 ? "" : `, the caller held up for ${ownMs.toFixed(0)} ms`;
    say(`  ${phase}, ${whenOf(burst, beginMs)}: ${burst.count} above ${SLOW_MS} ms${held}`);
  }
}
type Saying = { readonly say: BenchContext["say"]; readonly own: OwnStalls };

const whenOf = ({ fromMs, toMs }: Burst, beginMs: number) =>
  `at ${inSeconds(fromMs - beginMs)}, for ${inSeconds(toMs - fromMs)}`;
const inSeconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(2)} s`;

type Course = { readonly capacity: number; readonly wrong: number; readonly disturbances: Disturbances };

function loadFigures({ ms, statuses }: Tally, { capacity, wrong, disturbances }: Course): Figure[] {
  const failed = [...statuses].reduce((sum, [status, count]) => sum + (status === 200 ? 0 : count), 0);
  const count = (name: string, value: number): Figure => ({ name, value, unit: "" });
  return [
    { name: "load.capacity", value: capacity, unit: "ranks/s" },
    count("load.answers", ms.length),
    count("load.wrong", wrong),
    count("load.failed", failed),
    count("load.versions", disturbances.versions),
    count("load.trainer_kills", disturbances.kills),
    count("load.keys", disturbances.keys),
    { name: "load.p50", value: quantile(ms, 0.5), unit: "ms" },
    { name: "load.p99", value: quantile(ms, 0.99), unit: "ms" },
  ];
}

/** What became of calls beyond capacity: `other` is any answer but a ranked list and a refusal. */
function overloadFigures(name: string, { ms, statuses }: Tally): Figure[] {
  const shed = (statuses.get(429) ?? 0) + (statuses.get(503) ?? 0);
  const all = [...statuses.values()].reduce((sum, value) => sum + value, 0);
  const count = (what: string, value: number): Figure => ({ name: `${name}.${what}`, value, unit: "" });
  return [
    count("accepted", ms.length),
    count("shed", shed),
    count("other", all - ms.length - shed),
    { name: `${name}.p50`, value: quantile(ms, 0.5), unit: "ms" },
    { name: `${name}.p99`, value: quantile(ms, 0.99), unit: "ms" },
  ];
}
