/** The best items of many histories, without the scores of all items (head-graph.ts). */
import { availableParallelism } from "node:os";
import type ort from "onnxruntime-node";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { ScoreScale } from "../../../shared/rank/score-scale.ts";
import type { History } from "../../../shared/snapshot.ts";
import { topK } from "../../../shared/top-k.ts";
import type { ExportedModel } from "../model.ts";
import { openGemm } from "../numerics/linear-algebra/gemm.ts";
import { joinedFeeds, openBatchSession } from "./batch-session.ts";
import { collectCalls } from "./collect-calls.ts";
import {
  CLUSTER_GROUPS,
  clusterAt,
  GROUP_ITEMS,
  groupsOutput,
  HEAD_OUTPUTS,
  headGraph,
  type ItemRows,
} from "./head-graph.ts";

/** What is known of the scores of a history. It may be read until the next histories are scored. */
export type Head = {
  /** The same as `topK` of all scores; undefined if too many items would have to be scored for it. */
  bestOf(limit: number, isCandidate: (item: ItemIndex) => boolean): ItemIndex[] | undefined;
  scoreOf(item: ItemIndex): number;
  /** The same as `scaleOf` of all scores, but for rounding. */
  scale(): ScoreScale;
};

export type HeadScorer = {
  /** The number of histories of one run. A caller asks for as many at the same time. */
  readonly count: number;
  headOf(history: History): Promise<Head>;
  close(): Promise<void>;
};

/** Clusters that are read before the rest of the list, beyond one for each place: items that the user has seen are the best ones. */
const CLUSTERS_MORE = 40;
/** Part of the clusters after which scoring all items is faster. */
const CLUSTERS_FRACTION_MAX = 1 / 4;

/** Undefined if the model is of another kind, or if its items as numbers need more memory. */
export async function openHeadScorer(
  exported: ExportedModel,
  itemCount: number,
  { memoryMbMax = Number.POSITIVE_INFINITY, threads = availableParallelism() } = {},
): Promise<HeadScorer | undefined> {
  const head = headGraph(exported, itemCount, memoryMbMax * 1e6);
  if (head === undefined) return undefined;
  const { items, count, partGroups, inputs } = head;
  const clusterCount = partGroups.reduce((sum, groups) => sum + groups, 0) / CLUSTER_GROUPS;
  const session = await openBatchSession(head.graph, [...exported.weights, ...head.files], threads);
  const moments = await momentsOf(items, threads);
  const longest = longestOf(items);
  const { rows, units, clusters } = HEAD_OUTPUTS;
  let outputs: Readonly<Record<string, Float32Array<ArrayBuffer>>> = {};
  const run = async (feeds: Readonly<Record<string, ort.Tensor>>) => {
    // The runtime returns new arrays each time. Waiting for the garbage collector to find out would take a fifth of the time.
    for (const { buffer } of Object.values(outputs)) buffer.transfer(0);
    const results = Object.entries(await session.run(feeds));
    outputs = Object.fromEntries(results.map(([name, { data }]) => [name, data as Float32Array<ArrayBuffer>]));
  };
  /** The rows as the exact products take them: whole numbers for bytes, which are multiplied faster than mixed numbers. */
  const exactRows = new (items.values instanceof Int8Array ? Int32Array : Float64Array)(count * items.width);
  const partOf = (name: string, i: number, width: number) => outputs[name]!.subarray(i * width, (i + 1) * width);
  return {
    count,
    headOf: collectCalls(count, async (histories: readonly History[]) => {
      // A run has the same number of histories each time, so the last one fills what is left.
      const filled = Array.from({ length: count }, (_, i) => histories[Math.min(i, histories.length - 1)]!);
      await run(joinedFeeds(inputs, filled, head.longest));
      exactRows.set(outputs[rows]!);
      const groups = partGroups.map((_, part) => outputs[groupsOutput(part)]!);
      return histories.map((_, i) =>
        headFrom({
          ...{ items, itemCount, moments, longest },
          row: partOf(rows, i, items.width),
          exactRow: exactRows.subarray(i * items.width, (i + 1) * items.width),
          unit: head.hasUnits ? partOf(units, i, 1)[0]! : undefined,
          ...{ groups, at: i, clusters: partOf(clusters, i, clusterCount) },
        }),
      );
    }),
    close: () => session.release(),
  };
}

type Found = {
  readonly items: ItemRows;
  readonly itemCount: number;
  readonly moments: Moments;
  readonly longest: number;
  /**
   * The vector of the history, what multiplies its products, the largest products of the groups in each part for all histories, the place
   * of this one among them, and its largest products of clusters.
   */
  readonly row: Float32Array;
  readonly exactRow: Int32Array | Float64Array;
  readonly unit: number | undefined;
  readonly groups: readonly Float32Array[];
  readonly at: number;
  readonly clusters: Float32Array;
};

function headFrom({
  items,
  itemCount,
  moments,
  longest,
  row,
  exactRow,
  unit,
  groups,
  at: place,
  clusters,
}: Found): Head {
  const { width, values, scales } = items;
  // The products of a run are rounded in another way than scores are: each of `width` additions by half of 2^-23 of the largest product.
  const rounding = (width + 4) * 2 ** -23 * lengthOf(row) * longest;
  const factor = unit ?? 1;
  const productWith =
    exactRow instanceof Int32Array
      ? (first: number) => wholeProduct(exactRow, values as Int8Array, first)
      : (first: number) => longProduct(exactRow, values as Float32Array, first);
  /** The score as the published graph computes it: exact for bytes, but for the order of additions for float32. */
  const scoreOf = (item: ItemIndex) => {
    const product = Math.fround(productWith(item * width));
    const scaled = unit === undefined ? product : Math.fround(product * unit);
    return scales ? Math.fround(scaled * scales[item]!) : scaled;
  };
  const bestOf: Head["bestOf"] = (limit, isCandidate) => {
    const best: ItemIndex[] = [];
    const scores: number[] = [];
    let least = -Infinity;
    const add = (item: ItemIndex) => {
      const score = scoreOf(item);
      const isFull = best.length === limit;
      if (isFull && !(score > least || (score === least && item < best[limit - 1]!))) return;
      if (!(score > -Infinity) || !isCandidate(item)) return;
      let at = isFull ? limit - 1 : best.length;
      for (; at > 0 && (scores[at - 1]! < score || (scores[at - 1] === score && best[at - 1]! > item)); at--) {
        best[at] = best[at - 1]!;
        scores[at] = scores[at - 1]!;
      }
      best[at] = item;
      scores[at] = score;
      if (best.length === limit) least = scores[limit - 1]!;
    };
    /** Whether no item of groups with this largest product can enter the list. */
    const isBelow = (largest: number) => best.length === limit && factor * (largest + rounding) < least;
    /** Scores the items of a cluster's groups that have its largest product, or of the others. */
    const addGroups = (cluster: number, isLargest: boolean) => {
      const { part, first, apart, groups: count, firstItem } = clusterAt(cluster, itemCount);
      const products = groups[part]!;
      for (let i = 0, group = first; i < CLUSTER_GROUPS; i++, group += apart) {
        const largest = products[place * count + group]!;
        if ((largest === clusters[cluster]) !== isLargest || isBelow(largest)) continue;
        const begin = firstItem + GROUP_ITEMS * group;
        for (let item = begin; item < begin + GROUP_ITEMS && item < itemCount; item++) add(item as ItemIndex);
      }
    };
    if (!Number.isFinite(rounding)) return undefined;
    const clustersMax = Math.max(limit + CLUSTERS_MORE, CLUSTERS_FRACTION_MAX * clusters.length);
    for (let read = 0, wanted = limit + CLUSTERS_MORE; read < clusters.length; wanted *= 4) {
      const count = Math.min(wanted, clusters.length);
      if (read > 0 && count > clustersMax) return undefined;
      const largest: readonly number[] = topK(clusters, count);
      const next = largest.slice(read);
      // The largest groups come first, so that most of the others are below the list then.
      for (const cluster of next) if (!isBelow(clusters[cluster]!)) addGroups(cluster, true);
      for (const cluster of next) if (!isBelow(clusters[cluster]!)) addGroups(cluster, false);
      if (isBelow(clusters[largest.at(-1)!]!)) return best;
      read = count;
    }
    return best;
  };
  const scale = () => {
    const mean = factor * productOf(row, moments.mean, 0);
    let variance = 0;
    for (let i = 0; i < width; i++) variance += row[i]! * productOf(row, moments.covariance, i * width);
    variance *= factor ** 2;
    const isFlat = !(variance > 1e-12 * mean ** 2);
    return { mean, deviation: isFlat ? 1 : Math.sqrt(variance) };
  };
  return { bestOf, scoreOf, scale };
}

/** The product of a row of whole numbers with as many bytes from a place on. */
function wholeProduct(row: Int32Array, values: Int8Array, first: number): number {
  const width = row.length;
  let [a, b] = [0, 0];
  let i = 0;
  for (; i + 1 < width; i += 2) {
    a = (a + Math.imul(row[i]!, values[first + i]!)) | 0;
    b = (b + Math.imul(row[i + 1]!, values[first + i + 1]!)) | 0;
  }
  if (i < width) a = (a + Math.imul(row[i]!, values[first + i]!)) | 0;
  return a + b;
}

/** The product of a row with as many numbers from a place on, in float64. */
function longProduct(row: Float64Array, values: Float32Array, first: number): number {
  const width = row.length;
  let [a, b, c, d] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 3 < width; i += 4) {
    a += row[i]! * values[first + i]!;
    b += row[i + 1]! * values[first + i + 1]!;
    c += row[i + 2]! * values[first + i + 2]!;
    d += row[i + 3]! * values[first + i + 3]!;
  }
  for (; i < width; i++) a += row[i]! * values[first + i]!;
  return a + b + (c + d);
}

function productOf(row: Float32Array, values: Float32Array, first: number): number {
  let sum = 0;
  for (let i = 0; i < row.length; i++) sum += row[i]! * values[first + i]!;
  return sum;
}

const lengthOf = (row: Float32Array) => Math.sqrt(productOf(row, row, 0));

/** The largest length of an item's vector times its scale. */
function longestOf({ width, values, scales }: ItemRows): number {
  let longest = 0;
  for (let item = 0; item * width < values.length; item++) {
    let squares = 0;
    for (let i = item * width; i < (item + 1) * width; i++) squares += values[i]! ** 2;
    longest = Math.max(longest, Math.sqrt(squares) * (scales ? scales[item]! : 1));
  }
  return longest;
}

/** Mean [width] and covariance [width * width] of the items' vectors times their scales. */
type Moments = { readonly mean: Float32Array; readonly covariance: Float32Array };

async function momentsOf({ width, values, scales }: ItemRows, threads: number): Promise<Moments> {
  const rows = values.length / width;
  const sum = new Float64Array(width);
  const centred = new Float32Array(values.length);
  for (let at = 0; at < values.length; at++) {
    centred[at] = values[at]! * (scales ? scales[Math.floor(at / width)]! : 1);
    sum[at % width]! += centred[at]!;
  }
  const mean = Float32Array.from(sum, (total) => total / rows);
  for (let at = 0; at < values.length; at++) centred[at]! -= mean[at % width]!;
  const gemm = openGemm(threads);
  const a = { rows, columns: width, values: centred };
  const covariance = (await gemm.multiply({ a, b: a, transposeA: true })).values.map((value) => value / rows);
  await gemm.close();
  return { mean, covariance };
}
