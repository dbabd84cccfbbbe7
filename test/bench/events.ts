import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventShardsKey } from "../../shared/events/event-store.ts";
import { stringAt } from "../../shared/packed-strings.ts";
import { type Bench, type BenchContext, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld, HISTORY_MAX } from "./edge-scale-world.ts";
import { compareObjects } from "./events-objects.ts";

const ITEMS = 10_000;
const USERS = 20_000;
const LIVE_EVENTS = 10;
const CALLS = 400;
/** Calls at once while accepted events are counted. */
const LANES = 32;
const SECONDS = 4;
const DELAYS_MS = [5, 60, 200];
/** Bound on what live events add to a rank call, when the shard is on the same machine. */
const RANK_RATIO_MAX = 1.5;

/**
 * Events on a real workerd with its storage on disk: what a shard accepts, how long calls take, what live events add to a rank call, and
 * what is written. workerd runs the Worker and all shards on one thread, so more shards do not add up here as they do in production.
 * `--seconds 10` counts accepted events for longer.
 */
export const events: Bench = async (context) => {
  const directory = await mkdtemp(join(tmpdir(), "bench-events-"));
  try {
    const options = { r2Directory: directory, vars: { EVENT_EXPORT_SECONDS: 3600, EVENTS_TIMEOUT_MS: 10_000 } };
    return await withEdge(options, async (edge) => [
      ...(await acceptedEvents(edge, context)),
      ...(await addedToRanks(edge, context)),
      ...(await compareObjects(edge, context)),
    ]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

const view = (user: string | number, item: number | string = 1) => ({ user_id: user, item_id: item, type: "view" });

async function acceptedEvents(edge: TimedEdge, { say, flags }: BenchContext): Promise<Figure[]> {
  const seconds = Number(flags.get("seconds") ?? SECONDS);
  const figures: Figure[] = [];
  for (const shards of [1, 16]) {
    const customer = `with-${shards}`;
    const list = { format: 1, generations: [{ id: 0, shards }] };
    const bytes = new TextEncoder().encode(JSON.stringify(list));
    await edge.store.putIfAbsent(eventShardsKey(customer), bytes, "application/json");
    const headers = { "x-api-key": (await edge.issueKey({ customer })).key };
    let sent = 0;
    const post = async (count: number, user?: number) => {
      const batch = Array.from({ length: count }, () => view(user ?? sent++));
      const { status, text } = await edge.http.call("/v0/events", { headers, body: { events: batch } });
      if (status !== 200) throw new Error(text);
    };
    for (const count of [1, 50]) {
      const name = `events.${shards}_shards.${count}_per_call`;
      await post(count);
      const times = await timesMs(CALLS, () => post(count));
      let calls = 0;
      const untilMs = performance.now() + seconds * 1000;
      const lane = async () => {
        for (; performance.now() < untilMs; calls++) await post(count);
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      const perSecond = (calls * count) / seconds;
      say(`  ${name}: ${perSecond.toFixed(0)} events/s, p50 ${quantile(times, 0.5).toFixed(2)} ms`);
      figures.push(
        { name: `${name}.accepted`, value: perSecond, unit: "events/s" },
        { name: `${name}.p50`, value: quantile(times, 0.5), unit: "ms" },
        { name: `${name}.p99`, value: quantile(times, 0.99), unit: "ms" },
      );
    }
  }
  return figures;
}

/** Rank calls of users with a record and ten live events, in turn by a model that listens to events and one that does not. */
async function addedToRanks(edge: TimedEdge, { say, fail }: BenchContext): Promise<Figure[]> {
  const drawn = drawnWorld({ label: "events", itemCount: ITEMS, userCount: USERS, weightBytesMax: 2 ** 26 });
  const { dataset, exported } = drawn;
  const version = { dataset, exported, historyMax: HISTORY_MAX };
  await edge.publish({ ...version, modelName: "deaf" });
  const meanings = { view: { label: true, seen: true } };
  await edge.publish({ ...version, modelName: "listening", events: { meanings, learnt: {} } });
  const headers = { "x-api-key": (await edge.issueKey()).key };
  const userIds = Array.from({ length: 20 }, (_, user) => stringAt(dataset.userIds, user));
  for (const user of userIds) {
    const batch = Array.from({ length: LIVE_EVENTS }, (_, i) => view(user, stringAt(dataset.itemIds, 97 * i)));
    await edge.http.call("/v0/events", { headers, body: { events: batch } });
  }
  const rank = async (model: string, i: number) => {
    const user = userIds[i % userIds.length]!;
    const answer = await edge.http.call(`/v0/models/${model}/rank?user_id=${user}`, { headers });
    const used = answer.header("x-events");
    if (answer.status !== 200 || used !== (model === "deaf" ? undefined : String(LIVE_EVENTS)))
      throw new Error(`${answer.status} with ${used} events: ${answer.text}`);
  };
  const measure = async (calls: number) => {
    const times = { deaf: [] as number[], listening: [] as number[] };
    for (let i = 0; i < calls; i++)
      for (const model of ["deaf", "listening"] as const)
        times[model].push(...(await timesMs(1, () => rank(model, i))));
    return [quantile(times.listening, 0.5), quantile(times.deaf, 0.5)] as const;
  };
  await measure(40);
  const [withEvents, without] = await measure(CALLS);
  say(`  a rank call takes ${withEvents.toFixed(2)} ms with live events and ${without.toFixed(2)} ms without`);
  if (withEvents > RANK_RATIO_MAX * without) fail(`live events make a rank call ${withEvents / without} times as long`);
  const figures = [compared("events.rank.p50", "ms", withEvents, without)];
  for (const delayMs of DELAYS_MS) {
    await edge.inject({ keys: "shard:", kind: "slow", slowMs: delayMs });
    figures.push(compared(`events.rank.shard_at_${delayMs}ms.p50`, "ms", ...(await measure(30))));
  }
  await edge.inject(undefined);
  return figures;
}
