/**
 * Many customers with three small models each on one trainer, next to one that does harm: sources that fall silent, queries that
 * fill the disk, more models than allowed, and a flood of calls. At the end the trainer is killed and started again.
 *
 * `--customers 100 --minutes 20`; a small run is `--customers 10 --minutes 2`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { forEachConcurrently } from "../../shared/concurrently.ts";
import type { ModelRecord } from "../../shared/model-record.ts";
import { type Bench, compared, quantile } from "./bench.ts";
import { type ManyWorld, startMany, startSilentPostgres } from "./many-world.ts";

const NAMES = ["first", "second", "third"];
const HOSTILE = "hostile";
const HOSTILE_MODELS = 12;
const FLOODS = 16;
const CONCURRENT_RUNS = 2; // as in environmentOf()
const SAMPLE_EVERY_MS = 2000;
/** Growth in the second half of the run that counts as flat. */
const GROWTH_MAX = 1.25;

export const many: Bench = async ({ say, fail, flags }) => {
  const count = Number(flags.get("customers") ?? 100);
  const minutes = Number(flags.get("minutes") ?? 20);
  const customers = Array.from({ length: count }, (_, i) => `customer-${i}`);
  const world = await startMany([...customers, HOSTILE]);
  const silent = await startSilentPostgres();
  const stopping = new AbortController();
  try {
    const harm = doHarm(world, silent.location, stopping.signal);
    const beganMs = performance.now();
    const createdMs = await createAll(world, customers);
    const samples = await watch(world, { total: count * NAMES.length, untilMs: beganMs + minutes * 60_000, say });
    stopping.abort();
    const { refused, answered } = await harm;
    say(`  the flood had ${answered} answers, ${refused} of them refusals`);
    const runSeconds = quantile(secondsOf(world), 0.5);
    const lateness = latenessOf(world, createdMs, count);
    for (const { model, ratio } of lateness.filter((late) => late.ratio > 2))
      fail(`${model} was trained after ${ratio.toFixed(1)} times its fair time`);
    const untrained = count * NAMES.length - lateness.length;
    if (untrained > 0) fail(`${untrained} models were not trained within ${minutes} minutes`);
    const before = await recordsOf(world, customers);
    await world.restart();
    const lost = differences(before, await recordsOf(world, customers));
    if (lost > 0) fail(`${lost} records are not the same after a kill`);
    const figures = [];
    for (const [name, unit, values] of [
      ["memory", "MB", samples.map(({ memoryMb }) => memoryMb)],
      ["disk", "MB", samples.map(({ diskMb }) => diskMb)],
    ] as const) {
      const half = Math.max(...values.slice(0, Math.ceil(values.length / 2)));
      const end = values.at(-1)!;
      if (end > GROWTH_MAX * half) fail(`${name} grew from ${half.toFixed(0)} to ${end.toFixed(0)} ${unit}`);
      figures.push(compared(`many.${name}_end`, unit, end, half));
    }
    const calls = samples.map(({ callMs }) => callMs);
    return [
      { name: "many.models_trained", value: lateness.length, unit: "", reference: count * NAMES.length },
      { name: "many.run_seconds_p50", value: runSeconds, unit: "s" },
      { name: "many.worst_time", value: Math.max(...lateness.map(({ ratio }) => ratio)), unit: "× fair" },
      { name: "many.records_lost", value: lost, unit: "" },
      { name: "many.call_p95", value: quantile(calls, 0.95), unit: "ms" },
      ...figures,
    ];
  } finally {
    stopping.abort();
    silent.stop();
    await world.stop();
  }
};

/** Creates every customer's models, one of each before the next. Returns when each was created, by `customer/model`. */
async function createAll(world: ManyWorld, customers: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const createdMs = new Map<string, number>();
  for (const name of NAMES)
    await forEachConcurrently(customers, 4, async (customer) => {
      const { status } = await world.create(customer, name);
      if (status !== 201) throw new Error(`The creation of ${customer}/${name} was answered with ${status}.`);
      createdMs.set(`${customer}/${name}`, performance.now());
    });
  return createdMs;
}

type Watch = { readonly total: number; readonly untilMs: number; readonly say: (line: string) => void };

/** Samples memory, disk and the time of a call, until all models are trained or the time is over. */
async function watch(world: ManyWorld, { total, untilMs, say }: Watch) {
  const samples = [];
  for (let i = 0; ; i++) {
    const beganMs = performance.now();
    await world.call("GET", "/v0/models?limit=1", { customer: "customer-0" });
    const callMs = performance.now() - beganMs;
    samples.push({ callMs, memoryMb: await world.memoryMb(), diskMb: await world.diskMb() });
    const trained = firstEnds(world).size;
    if (i % 15 === 0) {
      const { memoryMb, diskMb } = samples.at(-1)!;
      say(`  ${trained} of ${total} models, ${memoryMb.toFixed(0)} MB of memory, ${diskMb.toFixed(0)} MB on disk`);
    }
    if (trained >= total || performance.now() > untilMs) return samples;
    await delay(SAMPLE_EVERY_MS);
  }
}

/** The first publication of every model of the others. */
function firstEnds(world: ManyWorld): Map<string, { readonly customer: string; readonly atMs: number }> {
  const ends = new Map<string, { readonly customer: string; readonly atMs: number }>();
  for (const { customer, model_name, outcome, atMs } of world.ended)
    if (customer !== HOSTILE && outcome === "published" && !ends.has(`${customer}/${model_name}`))
      ends.set(`${customer}/${model_name}`, { customer, atMs });
  return ends;
}

/** Durations of the others' runs. */
const secondsOf = (world: ManyWorld): number[] =>
  world.ended.filter(({ customer }) => customer !== HOSTILE).map(({ seconds }) => seconds);

/**
 * Each model's time until it was trained, divided by its fair time: when all customers take turns, the n-th model of a customer
 * is trained after n rounds.
 */
function latenessOf(world: ManyWorld, createdMs: ReadonlyMap<string, number>, customers: number) {
  const seconds = secondsOf(world);
  const meanMs = (seconds.reduce((sum, some) => sum + some, 0) / seconds.length) * 1000;
  const roundMs = ((customers + 1) * meanMs) / CONCURRENT_RUNS;
  const trained = new Map<string, number>(); // by customer
  return [...firstEnds(world)].map(([model, { customer, atMs }]) => {
    const round = (trained.get(customer) ?? 0) + 1;
    trained.set(customer, round);
    return { model, ratio: (atMs - createdMs.get(model)!) / (round * roundMs) };
  });
}

type Records = ReadonlyMap<string, ModelRecord>;

async function recordsOf(world: ManyWorld, customers: readonly string[]): Promise<Records> {
  const records = new Map<string, ModelRecord>();
  await forEachConcurrently(customers, 4, async (customer) => {
    const { body } = await world.call("GET", "/v0/models", { customer });
    for (const record of body.models as ModelRecord[]) records.set(`${customer}/${record.model_name}`, record);
  });
  return records;
}

/** Records of trained models whose specification or version is gone or another one. */
function differences(before: Records, after: Records): number {
  const kept = ({ status, version, input_schema, trained_at }: ModelRecord) =>
    JSON.stringify({ status, version, input_schema, trained_at });
  let count = 0;
  for (const [model, record] of before) {
    const now = after.get(model);
    if (now === undefined || (record.version !== null && kept(now) !== kept(record))) count++;
  }
  return count;
}

/** Creates models that do harm, and floods the trainer with calls until the signal aborts. */
async function doHarm(world: ManyWorld, silent: string, signal: AbortSignal) {
  const flood = { customer: HOSTILE };
  let answered = 0;
  let refused = 0;
  const count = ({ status }: { readonly status: number }) => {
    answered++;
    if (status >= 400) refused++;
  };
  for (let i = 0; i < HOSTILE_MODELS; i++) {
    const silence = { connector_configs: [{ type: "Postgres", location: silent, sslmode: "disable" }] };
    const columns = "range AS user_id, range AS item_id, TIMESTAMP '2026-01-01' AS created_at, 1 AS label";
    const filler = `SELECT ${columns} FROM range(2000000000)`;
    count(
      await (i % 2 ? world.create(HOSTILE, `silent-${i}`, silence) : world.create(HOSTILE, `filler-${i}`, {}, filler)),
    );
  }
  const loop = async (i: number) => {
    while (!signal.aborted) {
      const name = `${i % 2 ? "silent" : "filler"}-${i % HOSTILE_MODELS}`;
      const calls = [
        () => world.call("GET", "/v0/models", flood),
        () => world.call("POST", `/v0/models/${name}/train`, flood),
        () => world.call("POST", "/v0/models", { ...flood, body: "x".repeat(250_000) }),
      ];
      await calls[answered % calls.length]!().then(count, () => {});
      await delay(5); // of the client, which shares the machine with the trainer
    }
  };
  await Promise.all(Array.from({ length: FLOODS }, (_, i) => loop(i)));
  return { answered, refused };
}
