import type { ItemIndex } from "../../shared/ids.ts";
import { compared, type Figure, quantile, timesMs } from "./bench.ts";
import type { RankCall, TimedEdge } from "./edge-scale-serving.ts";
import { HISTORY_MAX, RARITIES, type ScaleWorld } from "./edge-scale-world.ts";

export type Variants = { readonly edge: TimedEdge; readonly call: RankCall; readonly world: ScaleWorld };

export const VARIANT_CALLS = 30;

/** One item passes, so all items are tested, with 2^n + 2n clauses; more than nine are refused everywhere. */
const heavyFilter = (n: number) => ({
  $and: [
    ...Array.from({ length: n }, (_, i) => ({
      $or: [{ rarity: { $gt: RARITIES + i } }, { rarity: { $gte: i }, item_id: { $lt: i + 2 } }],
    })),
    { $or: Array.from({ length: n }, (_, i) => ({ rarity: { $gte: i }, item_id: { $gte: i } })) },
  ],
});
const HEAVY_MOST = 9;

/** The heaviest filter that is accepted for this catalog size. */
async function worstFilter({ edge, call }: Variants): Promise<object> {
  for (let n = HEAVY_MOST; n > 0; n--) {
    const retrieval = heavyFilter(n);
    const refusal = await call(edge, "", { user_id: "0", retrieval }).then(() => undefined, String);
    if (refusal === undefined) return retrieval;
    if (!refusal.includes("filter_too_large")) throw new Error(refusal);
  }
  throw new Error("Every filter was refused.");
}

/** Time by limit, history length, filter selectivity and shaping. Each call alternates with a plain call for the same user. */
export async function measureVariants(variants: Variants): Promise<Figure[]> {
  const {
    edge,
    call,
    world: { label, historyOf },
  } = variants;
  const worst = await worstFilter(variants);
  const session = (length: number) => (i: number) => ({ interactions: interactionsOf(historyOf(i, length)) });
  const passing = (share: number) => (i: number) => ({
    user_id: String(i),
    retrieval: { rarity: { $lt: Math.round(share * RARITIES) } },
  });
  const bodies: readonly (readonly [string, (i: number) => object])[] = [
    ...[15, 100, 500].map((limit) => [`limit_${limit}`, (i: number) => ({ user_id: String(i), limit })] as const),
    ...[1, 20, HISTORY_MAX].map((length) => [`history_${length}`, session(length)] as const),
    ...[0.0001, 0.01, 0.5].map((share) => [`filter_${100 * share}%`, passing(share)] as const),
    ["filter_worst", (i: number) => ({ user_id: String(i), retrieval: worst })],
    ["caps_diversity", (i: number) => ({ user_id: String(i), max_per_value: { shelf: 2 }, diversity: 0.3 })],
    ["reasons", (i: number) => ({ user_id: String(i), return: ["reasons"] })],
    ["similar", (i: number) => ({ item_id: i + 1 })],
  ];
  const figures: Figure[] = [];
  for (const [name, bodyOf] of bodies) {
    await call(edge, "", bodyOf(0));
    const [plainMs, ms]: [number[], number[]] = [[], []];
    for (let i = 0; i < VARIANT_CALLS; i++) {
      plainMs.push(...(await timesMs(1, () => call(edge, "", { user_id: String(i) }))));
      ms.push(...(await timesMs(1, () => call(edge, "", bodyOf(i)))));
    }
    figures.push(compared(`edge.rank.p50.${label}.${name}`, "ms", quantile(ms, 0.5), quantile(plainMs, 0.5)));
  }
  return figures;
}

export const interactionsOf = (history: readonly ItemIndex[]) => history.map((item) => ({ item_id: item + 1 }));
