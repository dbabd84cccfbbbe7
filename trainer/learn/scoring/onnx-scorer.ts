import ort from "onnxruntime-node";
import type { History } from "../../../shared/snapshot.ts";
import type { ExportedModel } from "../model.ts";

export type Scorer = {
  /** Float32Array(itemCount). Never called with an empty history. */
  score(history: History): Promise<Float32Array>;
  close(): Promise<void>;
};

/** Opens an exported model as it is served, on onnxruntime-node with one thread. Throws when the graph is not valid. */
export async function openScorer(exported: ExportedModel, itemCount: number): Promise<Scorer> {
  const session = await ort.InferenceSession.create(exported.graph, {
    externalData: exported.weights.map(({ path, bytes }) => ({ path, data: bytes })),
    executionProviders: ["cpu"],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  const readsAges = session.inputNames.includes("ages_days");
  return {
    async score({ items, agesDays }) {
      const dims = [items.length];
      const feeds = {
        items: new ort.Tensor("int32", Int32Array.from(items), dims),
        ...(readsAges && { ages_days: new ort.Tensor("float32", Float32Array.from(agesDays), dims) }),
      };
      const scores = (await session.run(feeds)).scores?.data;
      if (!(scores instanceof Float32Array) || scores.length !== itemCount) {
        throw new Error(`The graph must answer float32 [${itemCount}] named "scores"; it answered ${scores?.length}.`);
      }
      return scores;
    },
    close: () => session.release(),
  };
}
