import * as ort from "onnxruntime-node";
import { openSession } from "../numerics/autodiff/step-part.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import type { Averages } from "./averages.ts";
import type { SequenceBatch } from "./batches.ts";

/** Scores every item after each of several histories, to evaluate parameters during training. */
export type BatchScorer = {
  /** Scores of what follows the last entry of each window. [rowCount * itemCount] */
  score(parameters: Averages, batch: SequenceBatch): Promise<Float32Array>;
  release(): Promise<void>;
};

type Feeds = Readonly<Record<string, ort.Tensor>>;

/**
 * @param graph Computes `scores` from the parameters, which are inputs of the same names, and from what `feedsOf` gives.
 */
export async function openBatchScorer(
  graph: GraphBuilder,
  scores: string,
  feedsOf: (batch: SequenceBatch) => Feeds,
): Promise<BatchScorer> {
  graph.output("scores", scores, "float32", null);
  const session = await openSession(graph.build());
  return {
    async score(parameters, batch) {
      const feeds: Record<string, ort.Tensor> = { ...feedsOf(batch) };
      for (const [name, { value, dims }] of parameters) feeds[name] = new ort.Tensor("float32", value, dims);
      return (await session.run(feeds)).scores!.data as Float32Array;
    },
    release: () => session.release(),
  };
}
