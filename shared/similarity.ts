/**
 * How much a model favours each item whatever the history. Similar items are those that the model favours more than usual after one item;
 * without this file, the lists of many models would be popular items.
 *
 * Idea. `mean` and `deviation` describe an item's score, in standard deviations of each score array, over a sample of histories of one
 * item. The lift of an item is (score − mean) / (deviation + 0.2). The constant keeps items with hardly any data from the top.
 *
 *     mean, deviation   u8 [item_count]   value = low + (high − low) · (code / 255)², since most values are near the lowest
 *
 *     neighbours     u32 [rows · per_item]   only where the model ignores the history: items that users of an item also chose
 *     strengths      u8 [rows · per_item]    strength · 255; 0: no neighbour
 *
 * Items from `known_count` on have no positive interactions, so a model cannot tell what is similar to them.
 */
import * as z from "zod";
import { FormatError } from "./assert.ts";
import { arrayOf, type Container, decodeContainer, encodeContainer } from "./container.ts";
import { scaleOf } from "./rank/score-scale.ts";

export type Similarity = {
  readonly itemCount: number;
  readonly knownCount: number;
  /** Turns the scores for a history of one item into lifts, in place. */
  toLifts(scores: Float32Array): void;
  /** Adds to the scores of the items that users of this item also chose: up to 1 each. Absent if the model itself tells what is similar. */
  readonly addNeighbours?: (item: number, scores: Float32Array) => void;
};

/** Rows of `perItem` entries for the first items of the catalog. Strengths are 0…1; an entry with strength 0 is none. */
export type Neighbours = {
  readonly perItem: number;
  readonly items: Uint32Array;
  readonly strengths: Float32Array;
};

export type SimilarityStatistics = {
  readonly knownCount: number;
  readonly mean: Float32Array; // [itemCount]
  readonly deviation: Float32Array; // [itemCount]
  readonly neighbours?: Neighbours;
};

const KIND = "similarity";
/** Measured on MovieLens-1M: constants from 0.1 to 0.5 give lists of about equal likeness, and rarer items below. */
const DEVIATION_ADDED = 0.2;
const CODES = 255;

const Range = z.object({ low: z.number(), high: z.number() });
const Metadata = z.object({
  item_count: z.int().nonnegative(),
  known_count: z.int().nonnegative(),
  mean: Range,
  deviation: Range,
  /** Only with neighbours. */
  per_item: z.int().positive().optional(),
});
type Range = z.infer<typeof Range>;

export function encodeSimilarity({ knownCount, mean, deviation, neighbours }: SimilarityStatistics): Uint8Array {
  const ranges = { mean: rangeOf(mean), deviation: rangeOf(deviation) };
  return encodeContainer({
    kind: KIND,
    metadata: Metadata.parse({
      ...{ item_count: mean.length, known_count: knownCount, ...ranges },
      ...(neighbours && { per_item: neighbours.perItem }),
    }),
    arrays: {
      mean: codesOf(mean, ranges.mean),
      deviation: codesOf(deviation, ranges.deviation),
      ...(neighbours && {
        neighbours: neighbours.items,
        strengths: Uint8Array.from(neighbours.strengths, (strength) => Math.round(CODES * strength)),
      }),
    },
  });
}

/** Throws FormatError. */
export function decodeSimilarity(bytes: Uint8Array): Similarity {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount, known_count: knownCount, ...ranges } = container.metadata;
  const means = arrayOf(container, "mean", { dtypes: ["u8"], length: itemCount });
  const deviations = arrayOf(container, "deviation", { dtypes: ["u8"], length: itemCount });
  if (knownCount > itemCount || ranges.deviation.low < 0)
    throw new FormatError(
      `${KIND}: ${knownCount} known items of ${itemCount}, deviations from ${ranges.deviation.low}`,
    );
  const addNeighbours = neighboursIn(container);
  const [meanOf, deviationOf] = [valuesOf(ranges.mean), valuesOf(ranges.deviation)];
  return {
    itemCount,
    knownCount,
    ...(addNeighbours && { addNeighbours }),
    toLifts(scores) {
      const scale = scaleOf(scores);
      for (let item = 0; item < itemCount; item++) {
        const score = (scores[item]! - scale.mean) / scale.deviation;
        scores[item] = (score - meanOf[means[item]!]!) / (deviationOf[deviations[item]!]! + DEVIATION_ADDED);
      }
    },
  };
}

function neighboursIn(container: Container<z.infer<typeof Metadata>>): Similarity["addNeighbours"] {
  const { item_count: itemCount, per_item: perItem } = container.metadata;
  if (perItem === undefined) return undefined;
  const items = arrayOf(container, "neighbours", { dtypes: ["u32"] });
  const strengths = arrayOf(container, "strengths", { dtypes: ["u8"], length: items.length });
  if (items.length % perItem !== 0 || items.some((item) => item >= itemCount))
    throw new FormatError(`${KIND}: neighbours are not rows of ${perItem} items below ${itemCount}`);
  return (item, scores) => {
    for (let at = item * perItem; at < Math.min((item + 1) * perItem, items.length); at++)
      scores[items[at]!]! += strengths[at]! / CODES;
  };
}

/** Mean and deviation of each item's standardised score over the score arrays of some histories, given one after another. */
export function similarityStatistics(itemCount: number) {
  const sums = new Float64Array(itemCount);
  const squares = new Float64Array(itemCount);
  let count = 0;
  return {
    add(scores: Float32Array): void {
      const { mean, deviation } = scaleOf(scores);
      for (let item = 0; item < itemCount; item++) {
        const score = (scores[item]! - mean) / deviation;
        sums[item]! += score;
        squares[item]! += score * score;
      }
      count++;
    },
    result(): Omit<SimilarityStatistics, "knownCount"> {
      const mean = Float32Array.from(sums, (sum) => sum / count);
      const variance = (item: number) => squares[item]! / count - (sums[item]! / count) ** 2;
      return { mean, deviation: mean.map((_, item) => Math.sqrt(Math.max(0, variance(item)))) };
    },
  };
}

function rangeOf(values: Float32Array): Range {
  const [low, high] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [
    Infinity,
    -Infinity,
  ] as [number, number]);
  return values.length > 0 ? { low, high } : { low: 0, high: 0 };
}

const codesOf = (values: Float32Array, { low, high }: Range): Uint8Array =>
  Uint8Array.from(values, (value) => (high > low ? Math.round(CODES * Math.sqrt((value - low) / (high - low))) : 0));

const valuesOf = ({ low, high }: Range): Float64Array =>
  Float64Array.from({ length: CODES + 1 }, (_, code) => low + (high - low) * (code / CODES) ** 2);
