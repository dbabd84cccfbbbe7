/**
 * What one machine carries by `npm run serve`: rank calls and events in a second, with callers on the same machine, so that these are
 * lower bounds. `--items 1e4,1e5,1e6` chooses the catalogs, `--seconds 10` the time of each measurement, `--workers N` the processes.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../trainer/local/free-port.ts";
import { buildVersion } from "../../trainer/publish/build-version.ts";
import { newSecret, placesIn, ServeSettings, writeServeSettings } from "../../trainer/serve/serve-settings.ts";
import { directoryStore } from "../../trainer/store/directory-store.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { publish } from "../../trainer/store/publish.ts";
import { endService } from "../fixtures/started-service.ts";
import { serveProgram } from "../golden/frozen-service.ts";
import { type Bench, type Figure, quantile } from "./bench.ts";
import { drawnWorld, HISTORY_MAX, type ScaleWorld } from "./edge-scale-world.ts";
import { type HttpCaller, httpCaller } from "./http-caller.ts";

const CUSTOMER = "main";
/** A million items of 64 bytes, and what else an isolate needs for them. */
const WEIGHT_BYTES_MAX = 65 * 2 ** 20;
const MEMORY = { CACHE_MEGABYTES: 118, RECORD_MEGABYTES: 2 };
const USERS = 1000;
const HISTORY = 20;
const CALLS_PER_WORKER = 2;
const EVENTS_PER_CALL = 100;

export const serve: Bench = async ({ say, fail, flags }) => {
  const sizes = (flags.get("items") ?? "1e4,1e5,1e6").split(",").map(Number);
  const seconds = Number(flags.get("seconds") ?? 10);
  const workers = Number(flags.get("workers") ?? Math.min(8, availableParallelism()));
  const folder = await mkdtemp(join(tmpdir(), "bench-serve-"));
  const dir = join(folder, "service");
  const port = await freePort();
  const worlds = sizes.map((itemCount) =>
    drawnWorld({ label: nameOf(itemCount), itemCount, userCount: USERS, weightBytesMax: WEIGHT_BYTES_MAX }),
  );
  const secrets = { forward_secret: newSecret(), internal_secret: newSecret() };
  await writeServeSettings(
    dir,
    ServeSettings.parse({ format: 1, port, workers, environment: MEMORY, customer: CUSTOMER, ...secrets }),
  );
  for (const world of worlds) await publishTo(dir, world, folder);
  const service = serveProgram("serve", "--dir", dir);
  const figures: Figure[] = [];
  try {
    await service.printed("Up on ");
    const { api_key } = JSON.parse(await readFile(placesIn(dir).local, "utf8")) as { api_key: string };
    const caller = httpCaller(`http://127.0.0.1:${port}`);
    const measured = { caller, headers: { "x-api-key": api_key }, seconds, connections: workers * CALLS_PER_WORKER };
    for (const world of worlds) {
      const body = (i: number) => ({ interactions: interactionsOf(world, i), limit: 20 });
      const path = `/v0/models/${world.label}/rank`;
      for (let i = 0; i < 4 * workers; i++) await caller.call(path, { headers: measured.headers, body: body(i) });
      const { count, times, failed } = await repeated(measured, path, body);
      if (failed > 0) fail(`${failed} of ${count} rank calls of ${world.label} failed`);
      say(`${world.label}: ${count} calls`);
      const figure = (what: string, value: number, unit: string) =>
        figures.push({ name: `${world.label} ${what}`, value, unit });
      figure("rank calls", count / seconds, "1/s");
      figure("p50", quantile(times, 0.5), "ms");
      figure("p99", quantile(times, 0.99), "ms");
    }
    const { count, failed } = await repeated(measured, "/v0/events", eventsOf);
    if (failed > 0) fail(`${failed} of ${count} event calls failed`);
    figures.push({ name: "stored events", value: (count * EVENTS_PER_CALL) / seconds, unit: "1/s" });
    caller.close();
  } finally {
    await endService(service);
    await rm(folder, { recursive: true, force: true });
  }
  return figures;
};

const nameOf = (itemCount: number) => `items-${itemCount}`;

async function publishTo(dir: string, world: ScaleWorld, workDirectory: string): Promise<void> {
  const store = directoryStore(placesIn(dir).objects);
  const place = { customer: CUSTOMER, modelName: world.label };
  const nowMs = Date.now();
  await setStatus(store, place, { status: "SCHEDULING", nowMs });
  const built = await buildVersion({
    ...place,
    ...{ workDirectory, createdAtMs: nowMs, itemIdColumn: "item_id", method: "pooled", historyMax: HISTORY_MAX },
    ...{ dataset: world.dataset, exported: world.exported, edgeMemoryBytes: MEMORY.CACHE_MEGABYTES * 2 ** 20 },
  });
  const { signal } = new AbortController();
  await publish(built, new TextEncoder().encode("{}"), { store, nowMs: () => nowMs, signal, progress: () => {} });
}

const interactionsOf = (world: ScaleWorld, user: number) =>
  world.historyOf(user % USERS, HISTORY).map((item) => ({ item_id: item + 1 }));

const eventsOf = (call: number) => ({
  events: Array.from({ length: EVENTS_PER_CALL }, (_, i) => ({
    ...{ user_id: `u${(call * EVENTS_PER_CALL + i) % 100_000}`, item_id: String(i + 1), type: "view" },
    event_id: `${call}-${i}`,
  })),
});

type Measured = {
  readonly caller: HttpCaller;
  readonly headers: Readonly<Record<string, string>>;
  readonly seconds: number;
  readonly connections: number;
};

/** Repeats a call on several connections for a time. */
async function repeated(
  { caller, headers, seconds, connections }: Measured,
  path: string,
  bodyOf: (i: number) => object,
) {
  const times: number[] = [];
  let [next, failed] = [0, 0];
  const endMs = performance.now() + seconds * 1000;
  const loop = async () => {
    while (performance.now() < endMs) {
      const beganMs = performance.now();
      const { status } = await caller.call(path, { headers, body: bodyOf(next++) });
      times.push(performance.now() - beganMs);
      if (status !== 200) failed++;
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  return { count: times.length, times, failed };
}
