import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { putExperiment } from "../../trainer/store/experiments.ts";
import { changeLivePointer } from "../../trainer/store/live-pointer-swap.ts";
import { type Bench, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { processUse } from "./edge-scale-process.ts";
import { publishWorld, type RankCall, type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld } from "./edge-scale-world.ts";
import { PRICES } from "./prices.ts";

const ITEMS = 10_000;
const CALLS = 200;
/** Between two calls, since the shard writes on the thread that answers: a disk would delay the next answer, unlike in production. */
const PAUSE_MS = 20;
const WARM_CALLS = 100;
const ROUNDS = 5;
const MODEL = { customer: "acme", modelName: "scale" };
const SAMPLE = 0.1;
/** Bound on the CPU time of a call whose user is counted, against the same call without an experiment. */
const CPU_RATIO_MAX = 3;

/** CPU milliseconds of a call, with all that follows its answer, and the time until the answer. */
type Cost = { readonly cpuMs: number; readonly p50Ms: number };

/**
 * What an experiment costs a rank call: `first`, whose user is counted; `next`, of users who were counted before; and `sampled`, the first
 * call in an experiment that counts a tenth of the users. Each is measured in turn with calls of a model without an experiment, on one
 * workerd which runs the Worker and all shards, so the CPU time contains the shards' part.
 */
export const exposures: Bench = async ({ say, fail }) => {
  const r2Directory = await mkdtemp(join(tmpdir(), "bench-exposures-"));
  try {
    const world = drawnWorld({ label: "exposures", itemCount: ITEMS, userCount: 1000, weightBytesMax: 2 ** 26 });
    const { call } = await publishWorld(r2Directory, world);
    const measured = new Map<string, Cost>();
    for (const sample of [1, SAMPLE]) {
      const costs = await withEdge({ r2Directory }, (edge, pid) => measure(edge, pid, call, sample));
      for (const [name, cost] of Object.entries(costs))
        if (sample === 1 || name === "first") measured.set(`${name} ${sample}`, cost);
    }
    const figures: Figure[] = [];
    const plain = measured.get("plain 1")!;
    for (const [name, key] of [
      ["first", "first 1"],
      ["next", "next 1"],
      ["sampled", `first ${SAMPLE}`],
    ] as const) {
      const { cpuMs, p50Ms } = measured.get(key)!;
      say(
        `  ${name}: ${cpuMs.toFixed(2)} ms of CPU, ${plain.cpuMs.toFixed(2)} without; p50 ${p50Ms.toFixed(2)} ms, ${plain.p50Ms.toFixed(2)} without`,
      );
      figures.push(compared(`exposures.${name}.cpu`, "ms", cpuMs, plain.cpuMs));
      figures.push(compared(`exposures.${name}.p50`, "ms", p50Ms, plain.p50Ms));
      if (name === "first" && cpuMs > CPU_RATIO_MAX * plain.cpuMs)
        fail(`an exposure makes a call ${cpuMs / plain.cpuMs} times as expensive`);
    }
    const { perMillionObjectCalls, perMillionRowsWritten, perMillionCpuMs } = PRICES.platform;
    const cpu = Math.max(0, measured.get("first 1")!.cpuMs - plain.cpuMs) * perMillionCpuMs;
    const dollars = perMillionObjectCalls + perMillionRowsWritten + cpu;
    figures.push({ name: "exposures.million_users", value: dollars, unit: "$" });
    figures.push({ name: "exposures.million_users.sampled", value: SAMPLE * dollars, unit: "$" });
    return figures;
  } finally {
    await rm(r2Directory, { recursive: true, force: true });
  }
};

/** Costs of calls without an experiment, of each user's first call in one, and of the next one. */
async function measure(
  edge: TimedEdge,
  pid: number | undefined,
  call: RankCall,
  sample: number,
): Promise<Record<"plain" | "first" | "next", Cost>> {
  const costs = { plain: [] as Cost[], first: [] as Cost[], next: [] as Cost[] };
  for (let round = 0; round < ROUNDS; round++) {
    const ofUser = (i: number) => call(edge, `?user_id=r${round}-${i}&limit=15`);
    await endExperiment(edge);
    await timesMs(WARM_CALLS, (i) => ofUser(CALLS + i));
    costs.plain.push(await costOf(pid, ofUser));
    await beginExperiment(edge, sample);
    await timesMs(WARM_CALLS, (i) => ofUser(CALLS + i));
    costs.first.push(await costOf(pid, ofUser));
    costs.next.push(await costOf(pid, ofUser));
  }
  const middle = (all: readonly Cost[], name: keyof Cost) =>
    quantile(
      all.map((one) => one[name]),
      0.5,
    );
  const of = (all: readonly Cost[]) => ({ cpuMs: middle(all, "cpuMs"), p50Ms: middle(all, "p50Ms") });
  return { plain: of(costs.plain), first: of(costs.first), next: of(costs.next) };
}

async function costOf(pid: number | undefined, work: (i: number) => Promise<unknown>): Promise<Cost> {
  const before = processUse(pid).cpuMs;
  const times: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    times.push(...(await timesMs(1, () => work(i))));
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
  return { cpuMs: (processUse(pid).cpuMs - before) / CALLS, p50Ms: quantile(times, 0.5) };
}

const SHOWN_WITHIN_MS = 10_000;

async function beginExperiment(edge: TimedEdge, sample: number): Promise<void> {
  const arms = [
    { name: "a", share: 0.5 },
    { name: "b", share: 0.5 },
  ];
  const experiment = { name: "bench", arms, goal: { type: "purchase", within_hours: 24 }, sample };
  const start = { nowMs: Date.now(), salt: `s${Date.now()}`, edgeMemoryBytes: 1e9, exists: async () => true };
  await putExperiment(edge.store, MODEL, experiment, start);
  await edge.idle(SHOWN_WITHIN_MS);
}

async function endExperiment(edge: TimedEdge): Promise<void> {
  await changeLivePointer(edge.store, MODEL, (current) => {
    const { experiment: _, ...rest } = current!;
    return rest;
  });
  await edge.idle(SHOWN_WITHIN_MS);
}
