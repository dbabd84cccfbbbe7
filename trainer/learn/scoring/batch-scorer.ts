import { availableParallelism } from "node:os";
import ort from "onnxruntime-node";
import type { History } from "../../../shared/snapshot.ts";
import type { ExportedModel } from "../model.ts";
import { BATCH_SCORES, batchGraph, historiesOfRun, nodeCountOf } from "./batch-graph.ts";
import { feedsOf, openBatchSession } from "./batch-session.ts";
import { collectCalls } from "./collect-calls.ts";
import { openScorer, type Scorer } from "./onnx-scorer.ts";
import { openSpreadingScorer } from "./scorer-threads.ts";

/** Histories of a run, unless their scores together would be larger than this many numbers (32 MB), or the graph had more nodes. */
const HISTORIES_MAX = 64;
const SCORES_MAX = 8_000_000;

export type BatchScorer = Scorer & {
  /** The number of histories that are scored in one run. A caller asks for as many at the same time. */
  readonly count: number;
};

/**
 * Scores the histories that are asked for at the same time in one run of the model (batch-graph.ts), on all cores. Fewer than a batch are
 * scored one by one. A model whose histories share no product is scored by threads instead. The scores are those of `openScorer`, and may
 * be read until the next batch is asked for.
 */
export async function openBatchScorer(
  exported: ExportedModel,
  itemCount: number,
  { memoryMbMax = Number.POSITIVE_INFINITY, threads = availableParallelism() } = {},
): Promise<BatchScorer> {
  const count = historiesOfRun(
    nodeCountOf(exported.graph),
    Math.min(HISTORIES_MAX, Math.floor(SCORES_MAX / itemCount)),
  );
  const { graph, inputs, sharesProduct } = batchGraph(exported.graph, itemCount, count);
  if (!sharesProduct || count === 1) {
    const spread = await openSpreadingScorer({ exported, itemCount }, Number.POSITIVE_INFINITY, memoryMbMax);
    return { ...spread, count: HISTORIES_MAX };
  }
  const single = await openScorer(exported, itemCount);
  const session = await openBatchSession(graph, exported.weights, threads);
  // New memory for each run would take a third of its time.
  const output = new ort.Tensor("float32", new Float32Array(count * itemCount), [count, itemCount]);
  const scores = output.data as Float32Array;
  const runBatch = async (histories: readonly History[]) => {
    await session.run(feedsOf(inputs, histories), { [BATCH_SCORES]: output });
    return histories.map((_, i) => scores.subarray(i * itemCount, (i + 1) * itemCount));
  };
  const runOne = async (history: History) => (await single.score(history)).slice();
  return {
    count,
    score: collectCalls(count, (histories) =>
      histories.length === count ? runBatch(histories) : Promise.all(histories.map(runOne)),
    ),
    async close() {
      await session.release();
      await single.close();
    },
  };
}
