import type { ItemIndex } from "../../../shared/ids.ts";
import { topK } from "../../../shared/top-k.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import type { FitContext, TrainingData } from "../model.ts";
import { samplePositions, seededRandom } from "../numerics/seeded-random.ts";
import { countItems, distinctItems, type Histories, positiveHistories } from "../statistics/histories.ts";
import { addRow, type SparseWeights } from "../weights/weight-matrix.ts";
import { type AttributeRidgeParams, attributeWeights } from "./attribute-ridge.ts";

/** Fraction of the chosen items that are hidden from learning, and the largest number of them. */
const HIDDEN_FRACTION = 0.1;
const HIDDEN_MAX = 2000;
const USERS_MAX = 2000;
const HISTORY_MAX = 500;
const PLACES = 10;

/**
 * Whether the items' vectors should describe cold items beside the counted features. A tenth of the chosen items is hidden, and both
 * ways rank the hidden ones for users who chose some: vectors count if NDCG@10 is higher by more than its standard error.
 */
export async function vectorsHelp(
  data: TrainingData,
  params: AttributeRidgeParams,
  context: FitContext,
): Promise<boolean> {
  const all = distinctItems(positiveHistories(data, HISTORY_MAX));
  const uses = countItems(all);
  const random = seededRandom(1);
  const fraction = hiddenCount(uses.length) / Math.max(1, uses.length);
  const isHidden = Uint8Array.from(uses, (count) => (random() < fraction && count > 0 ? 1 : 0));
  const hidden = Int32Array.from(isHidden.keys()).filter((item) => isHidden[item] === 1);
  const shown = { ...data, ...rowsWhere(data, (row) => isHidden[data.items[row]!] === 0) };
  const users = Array.from({ length: all.userCount }, (_, user) => user).filter((user) => {
    const count = itemsOf(all, user).reduce((sum, item) => sum + isHidden[item]!, 0);
    return count > 0 && count < all.start[user + 1]! - all.start[user]!;
  });
  const sampled = [...samplePositions(users.length, USERS_MAX, random)].map((at) => users[at]!);
  if (sampled.length < 2) return false;
  const gains: Float64Array[] = [];
  for (const vectors of [0, 1]) {
    const weights = await attributeWeights(shown, hidden, { ...params, vectors }, context);
    gains.push(Float64Array.from(sampled, (user) => ndcgOf(weights, itemsOf(all, user), isHidden)));
  }
  const differences = gains[1]!.map((gain, i) => gain - gains[0]![i]!);
  const mean = differences.reduce((sum, each) => sum + each, 0) / differences.length;
  const variance = differences.reduce((sum, each) => sum + (each - mean) ** 2, 0) / (differences.length - 1);
  return mean > Math.sqrt(variance / differences.length);
}

/** About how many items are hidden. */
export const hiddenCount = (itemCount: number): number => Math.min(HIDDEN_MAX, Math.ceil(HIDDEN_FRACTION * itemCount));

const itemsOf = ({ items, start }: Histories, user: number): Int32Array => items.subarray(start[user], start[user + 1]);

/** NDCG@10 of the hidden items, ranked by those of the user that are not hidden. */
function ndcgOf(weights: SparseWeights, items: Int32Array, isHidden: Uint8Array): number {
  const scores = new Float32Array(weights.columnCount);
  for (const item of items) if (!isHidden[item]) addRow(weights, item, 1, scores);
  const relevant = new Set(items.filter((item) => isHidden[item]));
  const ranked = topK(scores, PLACES, (item: ItemIndex) => isHidden[item] === 1);
  const gained = ranked.reduce((sum, item, place) => sum + (relevant.has(item) ? discount(place) : 0), 0);
  let ideal = 0;
  for (let place = 0; place < Math.min(PLACES, relevant.size); place++) ideal += discount(place);
  return gained / ideal;
}

const discount = (place: number) => 1 / Math.log2(place + 2);
