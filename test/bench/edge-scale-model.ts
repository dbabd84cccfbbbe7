import type { GraphPart, PartBudget } from "../../trainer/learn/model.ts";
import { newestEntries, serveItems } from "../../trainer/learn/neural/item-matrix.ts";
import type { GraphBuilder } from "../../trainer/learn/numerics/onnx/graph.ts";
import { integers, scalar } from "../../trainer/learn/numerics/onnx/graph-shorthand.ts";
import { fileBox } from "../../trainer/learn/scoring/scoring-graph.ts";

type ItemVectors = {
  readonly itemCount: number;
  readonly width: number;
  /** Largest number of history entries that are summed. */
  readonly length: number;
  readonly values: Float32Array; // [itemCount * width]
};

/**
 * Scores items by their cosine with the sum of the history's vectors. The vectors are served as those of a network are: one file
 * holds them at unit length, another their lengths.
 */
export function appendCosine(graph: GraphBuilder, items: string, vectors: ItemVectors, budget: PartBudget): GraphPart {
  const { itemCount, width, length } = vectors;
  const newest = newestEntries(graph, items, length);
  const { units, lengths } = unitsAndLengths(vectors);
  const weightBytesMax = budget.weightBytesMax - lengths.byteLength;
  const served = serveItems(graph, { itemCount, width, values: units }, { ...budget, weightBytesMax });
  const box = fileBox(graph, budget.prefix);
  const weights = graph.op("Gather", [box.external("lengths", "float32", [itemCount], lengths), newest]);
  const user = graph.op("MatMul", [graph.op("Unsqueeze", [weights, integers(graph, 0)]), served.rowsOf(newest)]);
  const size = graph.op("ReduceL2", [user, integers(graph, -1)]);
  const unit = graph.op("Div", [user, graph.op("Max", [size, scalar(graph, 1e-6)])]);
  return {
    scores: served.scoresOf(unit),
    weights: [...served.files, ...box.files],
    truncation: served.truncation,
  };
}

function unitsAndLengths({ itemCount, width, values }: ItemVectors) {
  const units = values.slice();
  const lengths = new Float32Array(itemCount);
  for (let item = 0; item < itemCount; item++) {
    const row = units.subarray(item * width, (item + 1) * width);
    const length = Math.max(1e-6, Math.hypot(...row));
    lengths[item] = length;
    for (let i = 0; i < width; i++) row[i] = row[i]! / length;
  }
  return { units, lengths };
}
