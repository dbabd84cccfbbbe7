import { mkdtemp, rm } from "node:fs/promises";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { EdgeWorld } from "../fixtures/edge-world.ts";
import { type Bench, type BenchContext, type Figure, quantile } from "./bench.ts";
import { slowestPace, stolenMs, watchPace } from "./core-pace.ts";
import { type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld, PER_USER, RARITIES, type ScaleWorld } from "./edge-scale-world.ts";
import { EVERY_CORE, keepToCores, OTHER_CORES, OWN_CORE } from "./keep-to-cores.ts";
import type { LoadCall } from "./load-check.ts";
import { disturb } from "./load-disturbances.ts";
import { type Judge, startJudge, WORLD } from "./load-judge.ts";
import { closedLoop, OUTSTANDING_MAX, openLoop, pause } from "./load-loops.ts";
import { watchMemory } from "./load-memory.ts";
import { type MortalTrainer, mortalTrainer } from "./load-trainer.ts";

const SECONDS = 600;
const CONNECTIONS = 16;
const CAPACITY_SECONDS = 5;
/** The load, as a fraction of the capacity. */
const LOAD_FRACTION = 0.8;
const REFUSED_FRACTION_MAX = 1 / 1000;
const OVERLOAD_SECONDS = 10;
/** An overload begins in the midst of ordinary load, since opening its connections takes the isolate's thread. */
const BEFORE_SECONDS = 3;
const OVERLOAD_CONNECTIONS = 150;
const DOUBLE_P99_MS_MAX = 250;
const FLOOD_CONNECTIONS = 200;
const OTHER_CALL_EVERY_MS = 50;
const OTHER_ANSWERED_FRACTION_MIN = 0.9;
const REFUSALS_SHOWN = 3;

/**
 * Mixed rank calls at 80 % of the measured capacity, while versions are published, the trainer is killed and restarted, and keys come
 * and go. Every answer is checked against a native reference. Then three overloads: twice the capacity, 150 connections that call
 * again at once, and one customer's 200 connections while another customer calls now and then. `--seconds 60` is shorter.
 * The Worker's clocks stand still while it computes, as in production (test/fixtures/edge-clock.ts).
 */
export const load: Bench = async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "bench-load-"));
  const world = drawnWorld(WORLD);
  const trainer = await mortalTrainer();
  const vars = { TRAINER_URL: trainer.url, QUEUE_MS_MAX: 140 };
  try {
    await trainer.start();
    // The bucket is in another workerd, as R2 is on other machines: neither upload nor read takes the isolate's thread or core.
    return await withEdge({ r2Directory: join(folder, "r2") }, (bucket, bucketPid) => {
      const farBucketUrl = bucket.workerUrl;
      return withEdge({ farBucketUrl, vars, isInspected: true }, async (edge, edgePid) => {
        const judge = await startJudge(bucket.s3, join(folder, "work"));
        setPriority(judge.pid, constants.priority.PRIORITY_LOW); // it may judge later
        const otherPids = [bucketPid!, judge.pid];
        return underLoad({ edge, edgePid: edgePid!, otherPids, bucket, world, judge, trainer, context });
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
  /** The processes of the bucket and of the judge. */
  readonly otherPids: readonly number[];
  /** The edge whose bucket the measured edge reads. */
  readonly bucket: EdgeWorld;
  readonly world: ScaleWorld;
  readonly judge: Judge;
  readonly trainer: MortalTrainer;
  readonly context: BenchContext;
};

type Tally = {
  /** Durations of the calls that were ranked, in milliseconds. */
  readonly ms: number[];
  readonly statuses: Map<number, number>;
  /** Bodies of some answers that are no ranked list. */
  readonly refusals: Set<string>;
};
const emptyTally = (): Tally => ({ ms: [], statuses: new Map(), refusals: new Set() });
const countOf = ({ statuses }: Tally) => [...statuses.values()].reduce((sum, count) => sum + count, 0);

async function underLoad(setting: Setting): Promise<Figure[]> {
  const { edge, bucket, world, judge, context } = setting;
  const { say, fail } = context;
  const seconds = Number(context.flags.get("seconds") ?? SECONDS);
  await judge.publish(0);
  const { key } = await bucket.issueKey();
  const random = seededRandom(1);
  const call = (tally: Tally) => callAndCheck(edge, { key, call: drawnCall(world, random), judge: judge.judge, tally });

  const shareCores = separateCores(setting); // the capacity is measured on the core that the load has
  const warm = emptyTally();
  await closedLoop(() => call(warm), { connections: CONNECTIONS, seconds: CAPACITY_SECONDS });
  const capacity = warm.ms.length / CAPACITY_SECONDS;
  say(`  ${capacity.toFixed(0)} ranks/s; ${seconds} s at ${LOAD_FRACTION} of it`);

  const mixed = emptyTally();
  const fromMs = performance.now();
  const disturbing = disturb({ ...setting, key });
  const pace = await watchPace(OWN_CORE);
  const memory = await watchMemory(edge, context);
  const perSecond = LOAD_FRACTION * capacity;
  const leftOut = await openLoop(() => call(mixed), { perSecond, seconds, say });
  const memoryFigures = memory.end();
  const disturbances = await disturbing.end();
  const toMs = performance.now();
  const slowest = slowestPace(pace.pieces, { fromMs, toMs });
  const stolen = stolenMs(pace.pieces, { fromMs, toMs }) / (toMs - fromMs);
  pace.stop();
  for (const refusal of mixed.refusals) say(`  refused: ${refusal}`);
  say(`  statuses ${JSON.stringify([...mixed.statuses])}`);
  const failed = countOf(mixed) - mixed.ms.length;
  if (failed > REFUSED_FRACTION_MAX * countOf(mixed))
    fail(
      `${failed} of ${countOf(mixed)} calls were refused; the core's slowest second was at ${slowest?.toFixed(2)} of its pace`,
    );

  await openConnections(edge);
  await openLoop(() => call(emptyTally()), { perSecond, seconds: BEFORE_SECONDS, say });
  const double = emptyTally();
  await openLoop(() => call(double), { perSecond: 2 * capacity, seconds: OVERLOAD_SECONDS, say });
  const doubleP99 = quantile(double.ms, 0.99);
  if (doubleP99 > DOUBLE_P99_MS_MAX) fail(`at twice the capacity the p99 is ${doubleP99.toFixed(0)} ms`);
  const over = emptyTally();
  await closedLoop(() => call(over), { connections: OVERLOAD_CONNECTIONS, seconds: OVERLOAD_SECONDS });
  const other = await callsDuringFlood(setting, () => call(emptyTally()));
  if (other.ms.length < OTHER_ANSWERED_FRACTION_MIN * countOf(other))
    fail(`${other.ms.length} of ${countOf(other)} calls of another customer were answered in a flood`);
  const live = await memory.live();
  shareCores();

  say("  judging the answers");
  await judge.end();
  const faults = [...judge.faults, ...disturbances.faults];
  for (const fault of faults.slice(0, 10)) say(`  WRONG: ${fault}`);
  if (faults.length > 0) fail(`${faults.length} wrong answers`);
  return [
    { name: "load.capacity", value: capacity, unit: "ranks/s" },
    counted("load.answers", mixed.ms.length),
    counted("load.wrong", faults.length),
    counted("load.failed", failed),
    counted("load.versions", disturbances.versions),
    counted("load.trainer_kills", disturbances.kills),
    counted("load.keys", disturbances.keys),
    ...latencies("load", mixed),
    { name: "load.left_out", value: leftOut, unit: "share" },
    ...memoryFigures,
    live,
    { name: "load.pace.stolen", value: stolen, unit: "share" },
    ...(slowest === undefined ? [] : [{ name: "load.pace.slowest", value: slowest, unit: "of the usual" }]),
    ...overloadFigures("load.double", double),
    ...overloadFigures("load.overload", over),
    ...overloadFigures("load.flood.other", other),
  ];
}

/** Calls of one customer now and then, while another customer's connections call again as soon as they are answered. */
async function callsDuringFlood({ edge, bucket }: Setting, flood: () => Promise<void>): Promise<Tally> {
  await bucket.publish({ customer: "globex" });
  const { key } = await bucket.issueKey({ customer: "globex" });
  const tally = emptyTally();
  let isOver = false;
  const others = async () => {
    while (!isOver) {
      await timedCall(edge, { key, path: "/v0/models/shop/rank", tally });
      await pause(OTHER_CALL_EVERY_MS);
    }
  };
  const calling = others();
  await closedLoop(flood, { connections: FLOOD_CONNECTIONS, seconds: OVERLOAD_SECONDS });
  isOver = true;
  await calling;
  return tally;
}

/**
 * Gives the isolate's thread a core for itself. In production the trainer is on another machine, and two processes on the isolate's
 * core are a lack of capacity, not a fault. V8's helper threads, which collect garbage, are kept off that core, as in production.
 * Returns the function that lets all processes use all cores again.
 */
function separateCores({ edgePid, otherPids, context }: Setting): () => void {
  const all = [edgePid, process.pid, ...otherPids]; // with their child processes, above all the trainer
  const keep = (edgeCores: string, otherCores: string) =>
    [...all.map((pid) => keepToCores(pid, otherCores)), keepToCores(edgePid, edgeCores, "main")].every(Boolean);
  if (!keep(OWN_CORE, OTHER_CORES)) context.say("  the isolate shares its core: no taskset, or one core only");
  return () => void keep(EVERY_CORE, EVERY_CORE);
}

function drawnCall(world: ScaleWorld, random: () => number): LoadCall {
  const kind = random();
  const user = Math.floor(random() * WORLD.userCount);
  const limit = random() < 0.1 ? 100 : 15;
  const session = kind < 0.2 ? world.historyOf(user + WORLD.userCount, 1 + Math.floor(random() * PER_USER)) : [];
  const rarityBelow = kind > 0.8 ? [1, 100, RARITIES / 2][Math.floor(random() * 3)]! : null;
  return { user: kind < 0.1 || (kind > 0.5 && kind < 0.55) ? null : user, session, rarityBelow, limit };
}

type CheckedCall = {
  readonly key: string;
  readonly call: LoadCall;
  readonly judge: Judge["judge"];
  readonly tally: Tally;
};

async function callAndCheck(edge: TimedEdge, { key, call, judge, tally }: CheckedCall): Promise<void> {
  const { user, session, rarityBelow, limit } = call;
  const user_id = user === null ? "nobody" : String(user);
  const path = "/v0/models/scale/rank";
  const answer =
    session.length === 0 && rarityBelow === null
      ? await timedCall(edge, { key, path: `${path}?user_id=${user_id}&limit=${limit}`, tally })
      : await timedCall(edge, {
          key,
          path,
          body: {
            user_id,
            limit,
            interactions: session.map((item) => ({ item_id: item + 1 })),
            ...(rarityBelow !== null && { retrieval: { rarity: { $lt: rarityBelow } } }),
          },
          tally,
        });
  if (answer.status === 200) judge({ version: answer.header("x-model-version") ?? "none", call, body: answer.text });
}

type TimedCall = { readonly key: string; readonly path: string; readonly body?: object; readonly tally: Tally };

async function timedCall(edge: TimedEdge, { key, path, body, tally }: TimedCall) {
  const begin = performance.now();
  const answer = await edge.http.call(path, { headers: { "x-api-key": key }, body });
  const tookMs = performance.now() - begin;
  tally.statuses.set(answer.status, (tally.statuses.get(answer.status) ?? 0) + 1);
  if (answer.status === 200) tally.ms.push(tookMs);
  else if (tally.refusals.size < REFUSALS_SHOWN) tally.refusals.add(answer.text.slice(0, 300));
  return answer;
}

/** Opens as many connections as calls may wait. In production connections end before the isolate; here each one takes its thread. */
async function openConnections(edge: TimedEdge): Promise<void> {
  await Promise.all(Array.from({ length: OUTSTANDING_MAX }, () => edge.http.call("/health/live")));
}

const counted = (name: string, value: number): Figure => ({ name, value, unit: "" });

const latencies = (name: string, { ms }: Tally): Figure[] => [
  { name: `${name}.p50`, value: quantile(ms, 0.5), unit: "ms" },
  { name: `${name}.p99`, value: quantile(ms, 0.99), unit: "ms" },
];

/** The calls beyond capacity, by answer: `other` is any answer but a ranked list and a refusal. */
function overloadFigures(name: string, tally: Tally): Figure[] {
  const shed = (tally.statuses.get(429) ?? 0) + (tally.statuses.get(503) ?? 0);
  return [
    counted(`${name}.accepted`, tally.ms.length),
    counted(`${name}.shed`, shed),
    counted(`${name}.other`, countOf(tally) - tally.ms.length - shed),
    ...latencies(name, tally),
  ];
}
