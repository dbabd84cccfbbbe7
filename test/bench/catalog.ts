import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ItemId } from "../../shared/ids.ts";
import type { ChangedItem } from "../../shared/items/changes-file.ts";
import { writeChanges } from "../fixtures/item-changes.ts";
import { type Bench, type BenchContext, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { watchIsolate } from "./edge-scale-isolate.ts";
import { publishWorld, type RankCall, type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld, RARITIES } from "./edge-scale-world.ts";

const ITEMS = 1_000_000;
const USERS = 20_000;
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
/** The largest number of changed items; in smaller catalogs, a fifth of the items. */
const CHANGED_ITEMS = 200_000;
/** The items of a head. */
const LATEST_ITEMS = 1000;
const CALLS = 150;
const WARM_CALLS = 100;
/** Heads that are written while calls are timed, one after another. */
const HEADS = 8;
const SHOWN_WITHIN_MS = 10_000;
const SLOWER_MAX = 1.1;
const ISOLATE_MB_MAX = 128;
const LOOK_EVERY_MS = 5;
const MB = 1e6;
const SCALE = { customer: "acme", modelName: "scale" };

type Pair = { readonly plain: TimedEdge; readonly changed: TimedEdge; readonly call: RankCall };

/**
 * Rank calls with 200,000 changed items over a million, each beside one without changes; the memory of the isolate; and the first call
 * after a thousand further changes. `--items 1e5` selects another size.
 */
export const catalog: Bench = async (context) => {
  const itemCount = Number(context.flags.get("items") ?? ITEMS);
  const folder = await mkdtemp(join(tmpdir(), "bench-catalog-"));
  const [plainFolder, changedFolder] = [join(folder, "plain"), join(folder, "changed")];
  try {
    const world = drawnWorld({ label: "catalog", itemCount, userCount: USERS, weightBytesMax: WEIGHT_BYTES_MAX });
    const { call } = await publishWorld(plainFolder, world);
    await cp(plainFolder, changedFolder, { recursive: true });
    return await withEdge({ r2Directory: plainFolder }, (plain) =>
      withEdge({ r2Directory: changedFolder, isInspected: true }, async (changed) => {
        await writeChanges(changed.store, SCALE, { base: baseOf(itemCount), head: [] });
        return [
          ...(await compareCalls({ plain, changed, call }, context)),
          ...(await measureHeads(changed, call, { itemCount, ...context })),
        ];
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** Changes of both attributes of items that are spread over the catalog. Every tenth is hidden. */
const changes = (count: number, itemCount: number, round = 0): ChangedItem[] =>
  Array.from({ length: count }, (_, i) => ({
    id: String(((i * 4999) % itemCount) + 1) as ItemId,
    hidden: i % 10 === 0,
    values: {
      rarity: { value: (i * 31 + round) % RARITIES, at: 1 },
      shelf: { value: i % 7 === 0 ? "sale" : `shelf ${i % 200}`, at: 1 },
    },
  }));

const baseOf = (itemCount: number) => changes(Math.min(CHANGED_ITEMS, itemCount / 5), itemCount);

const CALLS_OF: Readonly<Record<string, (i: number) => object>> = {
  plain: (i) => ({ user_id: String(i) }),
  filter: (i) => ({ user_id: String(i), retrieval: { rarity: { $lt: RARITIES / 2 } } }),
  caps: (i) => ({ user_id: String(i), max_per_value: { shelf: 2 }, diversity: 0.3 }),
  popular: () => ({ retrieval: { shelf: { $ne: "sale" } } }),
};

async function compareCalls({ plain, changed, call }: Pair, { fail }: BenchContext): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [name, bodyOf] of Object.entries(CALLS_OF)) {
    const times = { plain: [] as number[], changed: [] as number[] };
    for (let i = 0; i < CALLS + WARM_CALLS; i++) {
      const [plainMs] = await timesMs(1, () => call(plain, "", bodyOf(i)));
      const [changedMs] = await timesMs(1, () => call(changed, "", bodyOf(i)));
      if (i < WARM_CALLS) continue;
      times.plain.push(plainMs!);
      times.changed.push(changedMs!);
    }
    const figure = compared(`catalog.rank.p50.${name}`, "ms", quantile(times.changed, 0.5), quantile(times.plain, 0.5));
    if (figure.ratio! > SLOWER_MAX) fail(`with changes, ${name} takes ${figure.ratio!.toFixed(2)} times as long`);
    figures.push(figure);
  }
  return figures;
}

type Measured = BenchContext & { readonly itemCount: number };

async function measureHeads(edge: TimedEdge, call: RankCall, { itemCount, fail }: Measured): Promise<Figure[]> {
  const watch = await watchIsolate(edge, LOOK_EVERY_MS);
  await watch.liveMb();
  watch.scriptMb();
  const [firstMs, nextMs]: [number[], number[]] = [[], []];
  for (let i = 0; i < HEADS; i++) {
    const head = changes(LATEST_ITEMS, itemCount, i);
    await writeChanges(edge.store, SCALE, { base: baseOf(itemCount), head });
    await edge.idle(SHOWN_WITHIN_MS);
    firstMs.push(...(await timesMs(1, () => call(edge, "", { user_id: String(i) }))));
    nextMs.push(...(await timesMs(5, () => call(edge, "", { user_id: String(i) }))));
  }
  const heapMb =
    Number(edge.log.map((line) => JSON.parse(line)).findLast(({ event }) => event === "version_loaded").heap_bytes) /
    MB;
  const memoryMb = watch.scriptMb().most + heapMb;
  const liveMb = (await watch.liveMb()) + heapMb;
  watch.stop();
  // The peak has columns that were replaced and are garbage until V8 collects them, so only the rest is bounded.
  if (liveMb > ISOLATE_MB_MAX) fail(`the isolate keeps ${liveMb.toFixed(0)} MB`);
  return [
    compared("catalog.first_call_after_change.p50", "ms", quantile(firstMs, 0.5), quantile(nextMs, 0.5)),
    { name: "catalog.memory.peak", value: memoryMb, unit: "MB" },
    { name: "catalog.memory.live", value: liveMb, unit: "MB" },
  ];
}
