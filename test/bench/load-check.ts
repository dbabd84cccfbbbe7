import type { ItemIndex } from "../../shared/ids.ts";
import { openScorer } from "../../trainer/learn/scoring/onnx-scorer.ts";
import { HISTORY_MAX, PER_USER, RARITIES, type ScaleWorld } from "./edge-scale-world.ts";

/** The parameters of a rank call. */
export type LoadCall = {
  /** The number of the user; null for an unknown user. */
  readonly user: number | null;
  readonly session: readonly ItemIndex[];
  /** Only items with a lower `rarity` match. */
  readonly rarityBelow: number | null;
  readonly limit: number;
};

export type Checker = {
  /** The fault of an answer; undefined if the answer is right. */
  faultOf(call: LoadCall, ids: readonly string[]): Promise<string | undefined>;
  close(): Promise<void>;
};

/** The allowed difference between two engines, relative to the largest score. */
const TOLERANCE = 1e-3;

/** Checks answers against native scores, in plain loops over the whole catalog. */
export async function openChecker(world: ScaleWorld): Promise<Checker> {
  const scorer = await openScorer(world.exported, world.itemCount);
  const scoresOf = async (history: readonly ItemIndex[]) =>
    history.length === 0
      ? Float32Array.from({ length: world.itemCount }, (_, item) => -item) // the catalog is sorted by popularity
      : scorer.score({ items: [...history], agesDays: history.map(() => 1) });
  return {
    async faultOf({ user, session, rarityBelow, limit }, ids) {
      const stored = user === null ? [] : world.historyOf(user, PER_USER);
      const own = new Set([...stored, ...session]);
      const isCandidate = (item: number) =>
        !own.has(item as ItemIndex) && (rarityBelow === null || (item * 7919) % RARITIES < rarityBelow);
      const items = ids.map((id) => Number(id) - 1);
      const wrong = items.find((item) => !isCandidate(item));
      if (wrong !== undefined)
        return own.has(wrong as ItemIndex) ? `seen item ${wrong}` : `item ${wrong} fails the filter`;
      if (new Set(items).size < items.length) return "an item twice";

      const scores = await scoresOf([...stored, ...session].slice(-HISTORY_MAX));
      const best = bestOf(scores, limit, isCandidate);
      if (items.length !== best.length) return `${items.length} items, not ${best.length}`;
      const largest = best.reduce((most, item) => Math.max(most, Math.abs(scores[item]!)), 0);
      const at = best.findIndex((item, i) => Math.abs(scores[item]! - scores[items[i]!]!) > TOLERANCE * largest);
      return at < 0 ? undefined : `item ${items[at]} at place ${at}, where item ${best[at]} belongs`;
    },
    close: () => scorer.close(),
  };
}

/** The best candidates, kept sorted by insertion, which is slow but simple. */
function bestOf(scores: Float32Array, limit: number, isCandidate: (item: number) => boolean): number[] {
  const best: number[] = [];
  for (let item = 0; item < scores.length; item++) {
    if (best.length === limit && scores[item]! <= scores[best[limit - 1]!]!) continue;
    if (!isCandidate(item)) continue;
    let place = best.length;
    while (place > 0 && scores[best[place - 1]!]! < scores[item]!) place--;
    best.splice(place, 0, item);
    best.length = Math.min(best.length, limit);
  }
  return best;
}
