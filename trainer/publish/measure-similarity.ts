import type { ItemIndex } from "../../shared/ids.ts";
import { POPULARITY } from "../../shared/manifest.ts";
import { encodeSimilarity, similarityStatistics } from "../../shared/similarity.ts";
import type { Scorer } from "../learn/scoring/onnx-scorer.ts";
import type { Interactions } from "../read/dataset/dataset.ts";
import { coOccurringItems } from "./co-occurring-items.ts";

/** On MovieLens-1M, 64 histories give lists of about the same likeness for most methods, and clearly worse ones for one method. */
const HISTORIES = 256;
/**
 * Added to the deviation of an item with one positive interaction, and less with more of them, since the scores of rare items are noise.
 * On MovieLens-100k, items with fewer than five positive interactions fill 2 to 5 % of the lists, and 13 to 25 % without it. The films
 * of the lists are as alike.
 */
const NOISE = 1;

/**
 * The file by which an edge finds similar items: how the model scores each item after single items, popular ones more often. Items from
 * the last one with a positive interaction on are unknown to the model.
 */
export async function measureSimilarity(scorer: Scorer, data: Interactions, method: string): Promise<Uint8Array> {
  const positives = new Uint32Array(data.itemCount);
  for (let at = 0; at < data.items.length; at++) positives[data.items[at]!]! += data.positive[at]!;
  const knownCount = positives.findLastIndex((count) => count > 0) + 1;
  const statistics = similarityStatistics(data.itemCount);
  const items = Array.from({ length: HISTORIES }, (_, i) => Math.floor(knownCount * (i / HISTORIES) ** 2));
  for (const item of new Set(items)) statistics.add(await scorer.score({ items: [item as ItemIndex], agesDays: [0] }));
  const { mean, deviation } = statistics.result();
  const noisy = deviation.map((value, item) => value + NOISE / Math.sqrt(Math.max(1, positives[item]!)));
  const neighbours = method === POPULARITY ? { neighbours: coOccurringItems(data) } : {};
  return encodeSimilarity({ knownCount, mean, deviation: noisy, ...neighbours });
}
