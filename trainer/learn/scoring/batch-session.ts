import ort from "onnxruntime-node";
import type { History } from "../../../shared/snapshot.ts";
import type { ExportedModel } from "../model.ts";
import { ofHistory } from "./batch-graph.ts";

/** Opens a graph for many histories. */
export function openBatchSession(graph: Uint8Array, weights: ExportedModel["weights"], threads: number) {
  return ort.InferenceSession.create(graph, {
    externalData: weights.map(({ path, bytes }) => ({ path, data: bytes })),
    executionProviders: ["cpu"],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    logSeverityLevel: 3, // it warns of constants that shared products make superfluous
    extra: { session: { intra_op: { allow_spinning: "0" } } }, // waiting threads leave the cores to others
  });
}

/** The inputs of a run: those of the published graph for each history. */
export function feedsOf(inputs: readonly string[], histories: readonly History[]): Record<string, ort.Tensor> {
  const feeds: Record<string, ort.Tensor> = {};
  for (const [i, { items, agesDays }] of histories.entries())
    for (const name of inputs)
      feeds[ofHistory(name, i)] =
        name === "items"
          ? new ort.Tensor("int32", Int32Array.from(items), [items.length])
          : new ort.Tensor("float32", Float32Array.from(agesDays), [items.length]);
  return feeds;
}
