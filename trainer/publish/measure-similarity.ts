import type { ItemIndex } from "../../shared/ids.ts";
import { encodeSimilarity, similarityStatistics } from "../../shared/similarity.ts";
import type { Scorer } from "../learn/scoring/onnx-scorer.ts";
import type { Interactions } from "../read/dataset/dataset.ts";

/** On MovieLens-1M, 64 histories give lists of about the same likeness for most methods, and clearly worse ones for one method. */
const HISTORIES = 256;

/**
 * The file by which an edge finds similar items: how the model scores each item after single items, popular ones more often. Items from
 * the last one with a positive interaction on are unknown to the model.
 */
export async function measureSimilarity(scorer: Scorer, data: Interactions): Promise<Uint8Array> {
  const knownCount = data.items.reduce((count, item, at) => (data.positive[at] ? Math.max(count, item + 1) : count), 0);
  const statistics = similarityStatistics(data.itemCount);
  const items = Array.from({ length: HISTORIES }, (_, i) => Math.floor(knownCount * (i / HISTORIES) ** 2));
  for (const item of new Set(items)) statistics.add(await scorer.score({ items: [item as ItemIndex], agesDays: [0] }));
  return encodeSimilarity({ knownCount, ...statistics.result() });
}
