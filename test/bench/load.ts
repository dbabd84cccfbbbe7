import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRandom } from "../../trainer/evaluate/seeded-random.ts";
import type { EdgeWorld } from "../fixtures/edge-world.ts";
import { type Bench, type BenchContext, type Figure, quantile } from "./bench.ts";
import { processUse } from "./edge-scale-process.ts";
import { withEdge } from "./edge-scale-serving.ts";
import { drawnWorld, HISTORY_MAX, PER_USER, RARITIES, type ScaleWorld } from "./edge-scale-world.ts";
import { type Checker, type LoadCall, openChecker } from "./load-check.ts";
import { type MortalTrainer, mortalTrainer } from "./load-trainer.ts";

const ITEMS = 20_000;
const USERS = 5000;
const SECONDS = 600;
const CONNECTIONS = 16;
const CAPACITY_SECONDS = 5;
const LOAD_SHARE = 0.8;
const OUTSTANDING_MAX = 400;
const OVERLOAD_SECONDS = 10;
const OVERLOAD_CONNECTIONS = 150;
const PUBLISH_EVERY_SECONDS = 20;
const KILL_EVERY_SECONDS = 15;
const KEY_EVERY_SECONDS = 5;
const REVOKED_SECONDS = 60;

/**
 * Mixed rank calls at 80 % of the measured capacity while versions are published, the trainer is killed and restarted,
 * and keys come and go; every answer is checked against a native reference. Then overload. `--seconds 60` for less.
 */
export const load: Bench = async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "bench-load-"));
  const options = { label: "load", itemCount: ITEMS, userCount: USERS, weightBytesMax: 24 * 2 ** 20 };
  const worlds = [7, 8].map((seed) => drawnWorld({ ...options, seed }));
  const trainer = await mortalTrainer();
  try {
    await trainer.start();
    return await withEdge({ r2Directory: folder, vars: { TRAINER_URL: trainer.url, QUEUE_MS_MAX: 150 } }, (edge, pid) =>
      underLoad({ edge, pid, worlds, trainer, context }),
    );
  } finally {
    await trainer.stop();
    await rm(folder, { recursive: true, force: true });
  }
};

type Setting = {
  readonly edge: EdgeWorld;
  readonly pid: number | undefined;
  readonly worlds: readonly ScaleWorld[];
  readonly trainer: MortalTrainer;
  readonly context: BenchContext;
};

type Tally = {
  /** Of the calls that were ranked. */
  readonly ms: number[];
  readonly statuses: Map<number, number>;
  readonly refusals: Set<string>;
  readonly faults: string[];
};
const emptyTally = (): Tally => ({ ms: [], statuses: new Map(), refusals: new Set(), faults: [] });

async function underLoad(setting: Setting): Promise<Figure[]> {
  const { edge, pid, worlds, context } = setting;
  const seconds = Number(context.flags.get("seconds") ?? SECONDS);
  const versions = new Map<string, Checker>();
  const checkers = await Promise.all(worlds.map(openChecker));
  const publish = async (which: number) => {
    const { dataset, exported } = worlds[which]!;
    const built = await edge.publish({ modelName: "scale", dataset, exported, historyMax: HISTORY_MAX });
    versions.set(built.version, checkers[which]!);
  };
  await publish(0);
  const { key } = await edge.issueKey();
  const random = seededRandom(1);
  const ask = (tally: Tally) => askAndCheck(edge, { key, call: drawnCall(worlds[0]!, random), versions, tally });

  const warm = emptyTally();
  await closedLoop(() => ask(warm), { connections: CONNECTIONS, seconds: CAPACITY_SECONDS });
  const capacity = warm.ms.length / CAPACITY_SECONDS;
  context.say(`  ${capacity.toFixed(0)} ranks/s; ${seconds} s at ${LOAD_SHARE} of it`);

  const tally = emptyTally();
  const trouble = disturb(setting, publish);
  const memory: number[] = [];
  const watch = setInterval(() => memory.push(processUse(pid).residentMb), 2000);
  await openLoop(() => ask(tally), { perSecond: LOAD_SHARE * capacity, seconds, say: context.say });
  clearInterval(watch);
  const disturbances = await trouble.end();
  for (const fault of [...tally.faults, ...disturbances.faults].slice(0, 10)) context.say(`  WRONG: ${fault}`);
  const wrong = tally.faults.length + disturbances.faults.length;
  if (wrong > 0) context.fail(`${wrong} wrong answers`);
  for (const refusal of [...tally.refusals].slice(0, 10)) context.say(`  refused: ${refusal}`);

  context.say(`  statuses ${JSON.stringify([...tally.statuses])}`);
  const over = emptyTally();
  await closedLoop(() => ask(over), { connections: OVERLOAD_CONNECTIONS, seconds: OVERLOAD_SECONDS });
  await Promise.all(checkers.map((checker) => checker.close()));
  return [...loadFigures(tally, { capacity, memory, disturbances }), ...overloadFigures(over)];
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
  readonly versions: ReadonlyMap<string, Checker>;
  readonly tally: Tally;
};

async function askAndCheck(edge: EdgeWorld, { key, call, versions, tally }: Question): Promise<void> {
  const { user, session, rarityBelow, limit } = call;
  const user_id = user === null ? "nobody" : String(user);
  const begin = performance.now();
  const response =
    session.length === 0 && rarityBelow === null
      ? await edge.call(`/v0/models/scale/rank?user_id=${user_id}&limit=${limit}`, { key })
      : await edge.call("/v0/models/scale/rank", {
          key,
          body: {
            user_id,
            limit,
            interactions: session.map((item) => ({ item_id: item + 1 })),
            ...(rarityBelow !== null && { retrieval: { rarity: { $lt: rarityBelow } } }),
          },
        });
  const text = await response.text();
  const tookMs = performance.now() - begin;
  tally.statuses.set(response.status, (tally.statuses.get(response.status) ?? 0) + 1);
  if (response.status !== 200) return void tally.refusals.add(text.slice(0, 300));
  tally.ms.push(tookMs);
  const checker = versions.get(response.headers.get("x-model-version") ?? "");
  const ids = (JSON.parse(text) as (string | number)[]).map(String);
  const fault = checker ? await checker.faultOf(call, ids) : "a version that was never published";
  if (fault !== undefined) tally.faults.push(`${JSON.stringify(call)}: ${fault}`);
}

async function closedLoop(
  ask: () => Promise<void>,
  { connections, seconds }: { connections: number; seconds: number },
) {
  const end = performance.now() + 1000 * seconds;
  const connection = async () => {
    while (performance.now() < end) await ask();
  };
  await Promise.all(Array.from({ length: connections }, connection));
}

type OpenLoop = { readonly perSecond: number; readonly seconds: number; readonly say: (line: string) => void };

/** Calls at their times, whether or not earlier ones are answered. */
async function openLoop(ask: () => Promise<void>, { perSecond, seconds, say }: OpenLoop): Promise<void> {
  const begin = performance.now();
  const outstanding = new Set<Promise<void>>();
  let sent = 0;
  for (let told = 60; ; ) {
    const elapsed = (performance.now() - begin) / 1000;
    if (elapsed >= seconds) break;
    if (elapsed >= told) {
      say(`  ${told} s`);
      told += 60;
    }
    for (; sent < elapsed * perSecond && outstanding.size < OUTSTANDING_MAX; sent++) {
      const call: Promise<void> = ask().finally(() => outstanding.delete(call));
      outstanding.add(call);
    }
    await pause(2);
  }
  await Promise.all(outstanding);
}

type Disturbances = { versions: number; kills: number; keys: number; faults: string[] };

/** What goes on besides, until told to end. */
function disturb({ edge, trainer }: Setting, publish: (which: number) => Promise<void>) {
  const done: Disturbances = { versions: 0, kills: 0, keys: 0, faults: [] };
  const revoked: { key: string; atMs: number }[] = [];
  let isOver = false;
  const every = async (seconds: number, work: () => Promise<void>) => {
    for (let next = performance.now() + 1000 * seconds; !isOver; next += 1000 * seconds) {
      while (!isOver && performance.now() < next) await pause(100);
      if (!isOver) await work().catch((error: unknown) => void done.faults.push(String(error)));
    }
  };
  const statusOf = async (path: string, key?: string) =>
    (await edge.call(path, key === undefined ? {} : { key })).status;
  const expectStatus = async (expected: readonly number[], path: string, key?: string) => {
    const status = await statusOf(path, key);
    if (!expected.includes(status)) done.faults.push(`${path}: ${status}, not ${expected.join(" or ")}`);
  };
  const works = [
    every(PUBLISH_EVERY_SECONDS, () => publish(++done.versions % 2)),
    every(KILL_EVERY_SECONDS, async () => {
      await trainer.kill();
      done.kills++;
      await expectStatus([502, 503], "/v0/models");
      await trainer.start();
      await expectStatus([200], "/v0/models");
    }),
    every(KEY_EVERY_SECONDS, async () => {
      const { key, keyId } = await edge.issueKey();
      await expectStatus([200], "/v0/models/scale/rank", key);
      await edge.revokeKey(keyId);
      revoked.push({ key, atMs: performance.now() });
      done.keys++;
      for (const { key: old, atMs } of revoked)
        if (performance.now() - atMs > 1000 * REVOKED_SECONDS) await expectStatus([401], "/v0/models/scale/rank", old);
    }),
  ];
  const end = async () => {
    isOver = true;
    await Promise.all(works);
    return done;
  };
  return { end };
}

type Course = { readonly capacity: number; readonly memory: readonly number[]; readonly disturbances: Disturbances };

function loadFigures({ ms, statuses, faults }: Tally, { capacity, memory, disturbances }: Course): Figure[] {
  const tenth = Math.max(1, Math.floor(memory.length / 10));
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const early = mean(memory.slice(tenth, 3 * tenth));
  const late = mean(memory.slice(-2 * tenth));
  const failed = [...statuses].reduce((sum, [status, count]) => sum + (status === 200 ? 0 : count), 0);
  const count = (name: string, value: number): Figure => ({ name, value, unit: "" });
  return [
    { name: "load.capacity", value: capacity, unit: "ranks/s" },
    count("load.answers", ms.length),
    count("load.wrong", faults.length + disturbances.faults.length),
    count("load.failed", failed),
    count("load.versions", disturbances.versions),
    count("load.trainer_kills", disturbances.kills),
    count("load.keys", disturbances.keys),
    { name: "load.p50", value: quantile(ms, 0.5), unit: "ms" },
    { name: "load.p99", value: quantile(ms, 0.99), unit: "ms" },
    { name: "load.memory_growth", value: late - early, unit: "MB" },
  ];
}

function overloadFigures({ ms, statuses, faults }: Tally): Figure[] {
  const shed = (statuses.get(429) ?? 0) + (statuses.get(503) ?? 0);
  const all = [...statuses.values()].reduce((sum, value) => sum + value, 0);
  const count = (name: string, value: number): Figure => ({ name, value, unit: "" });
  return [
    count("load.overload.accepted", ms.length),
    count("load.overload.shed", shed),
    count("load.overload.wrong", faults.length + all - ms.length - shed),
    { name: "load.overload.p99", value: quantile(ms, 0.99), unit: "ms" },
  ];
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
