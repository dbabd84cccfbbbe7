import { availableParallelism } from "node:os";
import ort from "onnxruntime-node";
import type { History } from "../../../shared/snapshot.ts";
import type { ExportedModel } from "../model.ts";
import { BATCH_SCORES, batchGraph, nodeCount, ofHistory } from "./batch-graph.ts";
import { openScorer, type Scorer } from "./onnx-scorer.ts";
import { openSpreadingScorer } from "./scorer-threads.ts";

/** Histories of a run, unless their scores together would be larger than this many numbers (32 MB), or the graph had more nodes. */
const HISTORIES_MAX = 64;
const SCORES_MAX = 8_000_000;
/** Opening a graph takes time that grows faster than its nodes: 1 s with these. */
const NODES_MAX = 1500;

type Waiting = { readonly history: History; resolve(scores: Float32Array): void; reject(error: unknown): void };

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
  memoryMbMax = Number.POSITIVE_INFINITY,
): Promise<BatchScorer> {
  const byNodes = Math.floor(NODES_MAX / nodeCount(exported.graph));
  const count = Math.max(1, Math.min(HISTORIES_MAX, Math.floor(SCORES_MAX / itemCount), byNodes));
  const { graph, inputs, sharesProduct } = batchGraph(exported.graph, itemCount, count);
  if (!sharesProduct || count === 1) {
    const spread = await openSpreadingScorer({ exported, itemCount }, Number.POSITIVE_INFINITY, memoryMbMax);
    return { ...spread, count: HISTORIES_MAX };
  }
  const single = await openScorer(exported, itemCount);
  const session = await ort.InferenceSession.create(graph, {
    externalData: exported.weights.map(({ path, bytes }) => ({ path, data: bytes })),
    executionProviders: ["cpu"],
    intraOpNumThreads: availableParallelism(),
    interOpNumThreads: 1,
    logSeverityLevel: 3, // it warns of constants that shared products make superfluous
    extra: { session: { intra_op: { allow_spinning: "0" } } }, // waiting threads leave the cores to others
  });
  // New memory for each run would take a third of its time.
  const output = new ort.Tensor("float32", new Float32Array(count * itemCount), [count, itemCount]);
  const scores = output.data as Float32Array;
  let waiting: Waiting[] = [];
  const runBatch = async (batch: readonly Waiting[]) => {
    const feeds: Record<string, ort.Tensor> = {};
    for (const [i, { history }] of batch.entries()) {
      const dims = [history.items.length];
      for (const name of inputs)
        feeds[ofHistory(name, i)] =
          name === "items"
            ? new ort.Tensor("int32", Int32Array.from(history.items), dims)
            : new ort.Tensor("float32", Float32Array.from(history.agesDays), dims);
    }
    await session.run(feeds, { [BATCH_SCORES]: output });
    for (const [i, { resolve }] of batch.entries()) resolve(scores.subarray(i * itemCount, (i + 1) * itemCount));
  };
  const runOne = async ({ history, resolve }: Waiting) => resolve((await single.score(history)).slice());
  const flush = () => {
    const batch = waiting;
    waiting = [];
    const run = batch.length === count ? runBatch(batch) : Promise.all(batch.map(runOne));
    run.catch((error: unknown) => {
      for (const { reject } of batch) reject(error);
    });
  };
  return {
    count,
    score: (history) =>
      new Promise<Float32Array>((resolve, reject) => {
        waiting.push({ history, resolve, reject });
        if (waiting.length === count) flush();
        else if (waiting.length === 1) setImmediate(() => waiting.length > 0 && flush());
      }),
    async close() {
      await session.release();
      await single.close();
    },
  };
}
