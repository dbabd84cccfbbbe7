import type { ItemIndex } from "../../shared/ids.ts";
import type { GoldenScores } from "../../shared/manifest.ts";
import type { History } from "../../shared/snapshot.ts";
import { topK } from "../../shared/top-k.ts";
import type { Scorer } from "../learn/scoring/onnx-scorer.ts";
import type { Interactions } from "../read/dataset/dataset.ts";

/** Largest difference between the trainer's and an edge's score, relative to the largest golden score. */
export const GOLDEN_TOLERANCE = 1e-3;

/** A cold isolate scores every golden history once. On larger catalogs only the first and the last history are kept. */
const ITEMS_MANY = 200_000;
const ENTRIES_MAX = 100;
const BEST = 10;
const OTHERS = 20;
const SECONDS_PER_DAY = 86_400;

/**
 * Real histories to check a loaded model with: one single item, then the shortest, the median and the longest user history. The same data
 * give the same histories.
 */
export function goldenHistories(data: Interactions, historyMax: number): History[] {
  const users = Array.from({ length: data.userCount }, (_, user) => user).filter((user) =>
    data.positive.subarray(data.userStart[user], data.userStart[user + 1]).includes(1),
  );
  if (users.length === 0) return data.itemCount > 0 ? [{ items: [0 as ItemIndex], agesDays: [0] }] : [];
  const byLength = users.sort((a, b) => lengthOf(data, a) - lengthOf(data, b) || a - b);
  const chosen = [0, 1, 2].map((third) => byLength[Math.round((third * (byLength.length - 1)) / 2)]!);
  const now = data.times.reduce((latest, time) => Math.max(latest, time), 0);
  const longest = Math.min(historyMax, ENTRIES_MAX);
  const whole = [...new Set(chosen)].map((user) => historyOf(data, positivesOf(data, user).slice(-longest), now));
  const single = { items: whole[0]!.items.slice(0, 1), agesDays: whole[0]!.agesDays.slice(0, 1) };
  return data.itemCount > ITEMS_MANY ? [single, whole.at(-1)!] : [single, ...whole];
}

/** The scores of each history for its ten best items and for twenty others, spread over the catalog. */
export async function goldenScores(scorer: Scorer, histories: readonly History[]): Promise<GoldenScores[]> {
  const golden: GoldenScores[] = [];
  for (const history of histories) {
    const scores = await scorer.score(history);
    const others = Array.from({ length: OTHERS }, (_, i) => Math.floor((i * scores.length) / OTHERS));
    const items = [...new Set<number>([...topK(scores, BEST), ...others])].filter((item) => item < scores.length);
    golden.push({
      items: [...history.items],
      ages_days: [...history.agesDays],
      scores: items.map((item) => [item, scores[item]!]),
    });
  }
  return golden;
}

const lengthOf = (data: Interactions, user: number) => data.userStart[user + 1]! - data.userStart[user]!;

/** Positions of a user's positive interactions, the oldest first. */
function positivesOf(data: Interactions, user: number): number[] {
  const [from, to] = [data.userStart[user]!, data.userStart[user + 1]!];
  return Array.from({ length: to - from }, (_, i) => from + i).filter((position) => data.positive[position] === 1);
}

/** A history with ages rounded to float32, the type of the graph's input, so that every reader uses the same numbers. */
const historyOf = (data: Interactions, positions: readonly number[], nowSeconds: number): History => ({
  items: positions.map((position) => data.items[position]! as ItemIndex),
  agesDays: positions.map((position) => Math.fround((nowSeconds - data.times[position]!) / SECONDS_PER_DAY)),
});
