import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { EdgeBundle } from "../fixtures/edge-bundle.ts";
import { type Bench, type BenchContext, compared, type Figure, quantile, timesMs } from "./bench.ts";
import { publishWorld, type RankCall, type TimedEdge, withEdge } from "./edge-scale-serving.ts";
import { drawnWorld, RARITIES } from "./edge-scale-world.ts";

const ITEMS = 100_000;
const USERS = 20_000;
const WEIGHT_BYTES_MAX = 80 * 2 ** 20;
const CALLS = 1000;
const WARM_CALLS = 200;
/** Bounds on the ratio of two p50. */
const WITH_REFERENCES_MAX = 1.1;
const SINCE_BEFORE_MAX = 1.03;

type Body = (i: number) => object;
type Timed = { readonly edge: TimedEdge; readonly bodyOf: Body };

/** The same filter with values of the call and with constants. Values change from call to call, as callers do. */
const PAIRS: Readonly<Record<string, readonly [referring: Body, constant: Body]>> = {
  number: [
    (i) => ({ context: { most: rarityAt(i) }, retrieval: { rarity: { $lt: { $context: "most" } } } }),
    (i) => ({ retrieval: { rarity: { $lt: rarityAt(i) } } }),
  ],
  category: [
    (i) => ({ user: { shelf: shelfAt(i) }, retrieval: { shelf: { $ne: { $user: "shelf" } } } }),
    (i) => ({ retrieval: { shelf: { $ne: shelfAt(i) } } }),
  ],
  boost: [
    (i) => ({ user: { shelf: shelfAt(i) }, boosts: [{ retrieval: { shelf: { $user: "shelf" } }, by: 0.5 }] }),
    (i) => ({ boosts: [{ retrieval: { shelf: shelfAt(i) }, by: 0.5 }] }),
  ],
};
const rarityAt = (i: number) => 1 + ((i * 37) % RARITIES);
const shelfAt = (i: number) => `shelf ${i % 200}`;

/** Calls that use nothing which the earlier checkout lacks. */
const PLAIN: Readonly<Record<string, Body>> = {
  plain: () => ({}),
  filter: (i) => ({ retrieval: { rarity: { $lt: rarityAt(i) } } }),
  shaped: () => ({ max_per_value: { shelf: 2 }, diversity: 0.3 }),
};

/**
 * Rank calls whose rules refer to the caller, each beside the same rule with constants. `--items 1e6` selects another size, and
 * `--calls` the number of pairs. `--before FOLDER` names a checkout of an earlier commit with its packages: calls that it can answer
 * are then compared with its Worker, in time and item by item.
 */
export const rules: Bench = async (context) => {
  const itemCount = Number(context.flags.get("items") ?? ITEMS);
  const before = context.flags.get("before");
  const folder = await mkdtemp(join(tmpdir(), "bench-rules-"));
  const [now, earlier] = [join(folder, "now"), join(folder, "earlier")];
  try {
    const world = drawnWorld({ label: "rules", itemCount, userCount: USERS, weightBytesMax: WEIGHT_BYTES_MAX });
    const { call } = await publishWorld(now, world);
    await cp(now, earlier, { recursive: true });
    return await withEdge({ r2Directory: now }, async (edge) => {
      const figures: Figure[] = [];
      for (const [name, [referring, constant]] of Object.entries(PAIRS)) {
        const pair = [
          { edge, bodyOf: referring },
          { edge, bodyOf: constant },
        ] as const;
        figures.push(
          await compare(`rules.rank.p50.${name}`, pair, { ...context, call, ratioMax: WITH_REFERENCES_MAX }),
        );
      }
      if (before === undefined) return figures;
      return await withEdge({ r2Directory: earlier, bundle: await bundleOf(before) }, async (edgeBefore) => {
        for (const [name, bodyOf] of Object.entries(PLAIN)) {
          const pair = [
            { edge, bodyOf },
            { edge: edgeBefore, bodyOf },
          ] as const;
          figures.push(
            await compare(`rules.since.p50.${name}`, pair, { ...context, call, ratioMax: SINCE_BEFORE_MAX }),
          );
        }
        return figures;
      });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

/** The Worker of another checkout, bundled by its own code. */
export async function bundleOf(checkout: string): Promise<EdgeBundle> {
  const file = pathToFileURL(resolve(checkout, "test/fixtures/edge-bundle.ts")).href;
  const { bundleEdge } = (await import(file)) as { bundleEdge: () => Promise<EdgeBundle> };
  return bundleEdge();
}

type Compared = BenchContext & { readonly call: RankCall; readonly ratioMax: number };

/** Pairs of calls, one after the other. Every second pair is in the other order, since the first call may find colder caches. */
async function compare(
  name: string,
  pair: readonly [Timed, Timed],
  { call, ratioMax, flags, fail }: Compared,
): Promise<Figure> {
  const count = Number(flags.get("calls") ?? CALLS);
  const times: [number[], number[]] = [[], []];
  let different = 0;
  for (let i = 0; i < count + WARM_CALLS; i++) {
    const lists: string[] = [];
    for (const side of i % 2 ? ([1, 0] as const) : ([0, 1] as const)) {
      const { edge, bodyOf } = pair[side];
      const body = { user_id: String(1 + ((i * 7919) % USERS)), ...bodyOf(i) };
      const [ms] = await timesMs(1, async () => lists.push((await call(edge, "", body)).join()));
      if (i >= WARM_CALLS) times[side].push(ms!);
    }
    if (lists[0] !== lists[1]) different++;
  }
  if (different > 0) fail(`${name}: ${different} of ${count + WARM_CALLS} lists differ`);
  const figure = compared(name, "ms", quantile(times[0], 0.5), quantile(times[1], 0.5));
  if (figure.ratio! > ratioMax) fail(`${name} takes ${figure.ratio!.toFixed(3)} times as long as its reference`);
  return figure;
}
