import ort from "onnxruntime-node";
import type { History } from "../../../shared/snapshot.ts";
import type { ExportedModel } from "../model.ts";
import { ofHistory } from "./batch-graph.ts";
import { LENGTHS } from "./joined-histories.ts";

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
  for (const [i, history] of histories.entries())
    for (const name of inputs) feeds[ofHistory(name, i)] = joinedTensor(name, [history]);
  return feeds;
}

/** The inputs of a run whose histories are given one after the other, each with its `longest` newest items. */
export function joinedFeeds(
  inputs: readonly string[],
  histories: readonly History[],
  longest: number,
): Record<string, ort.Tensor> {
  const cut = histories.map(({ items, agesDays }) =>
    items.length > longest ? { items: items.slice(-longest), agesDays: agesDays.slice(-longest) } : { items, agesDays },
  );
  const lengths = BigInt64Array.from(cut, ({ items }) => BigInt(items.length));
  return {
    ...Object.fromEntries(inputs.map((name) => [name, joinedTensor(name, cut)])),
    [LENGTHS]: new ort.Tensor("int64", lengths, [histories.length]),
  };
}

function joinedTensor(name: string, histories: readonly History[]): ort.Tensor {
  const all = histories.flatMap(({ items, agesDays }): readonly number[] => (name === "items" ? items : agesDays));
  return name === "items"
    ? new ort.Tensor("int32", new Int32Array(all), [all.length])
    : new ort.Tensor("float32", new Float32Array(all), [all.length]);
}
