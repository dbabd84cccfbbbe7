import type { GraphPart, PartBudget } from "../model.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { integer, integers, scalar } from "../numerics/onnx/graph-shorthand.ts";
import { fileBox } from "../scoring/scoring-graph.ts";
import type { Averages } from "./averages.ts";
import type { NetworkExport, Trained } from "./fitted-network.ts";
import { codedItemBytes, newestEntries, serveItems } from "./item-matrix.ts";
import { ITEM_TABLE } from "./item-vectors.ts";
import type { PooledShape } from "./pooled-graph.ts";

/**
 * Adds the pooled model to a scoring graph. One file holds the items' vectors at unit length. Another holds their lengths,
 * which weigh an item within a history.
 */
export function appendPooled(
  graph: GraphBuilder,
  items: string,
  { shape, parameters }: Trained<PooledShape>,
  budget: PartBudget,
): GraphPart {
  const { itemCount, width, length, ordered } = shape;
  const newest = newestEntries(graph, items, length);
  const { units, lengths } = unitsAndLengths(parameters, shape);
  const weightBytesMax = budget.weightBytesMax - lengths.byteLength;
  const served = serveItems(graph, { itemCount, width, values: units }, { ...budget, weightBytesMax });
  const box = fileBox(graph, budget.prefix);
  const lengthTable = box.external("lengths", "float32", [itemCount], lengths);
  const float = (name: string, dims: readonly number[]) =>
    graph.constant({ type: "float32", dims, data: parameters.get(name)!.value });

  const byItem = graph.op("Gather", [lengthTable, newest]);
  const byPlace = ordered ? placeWeights(graph, newest, float("place_weights", [length])) : undefined;
  const weights = byPlace ? graph.op("Mul", [byItem, byPlace]) : byItem;
  const pooled = graph.op("MatMul", [graph.op("Unsqueeze", [weights, integers(graph, 0)]), served.rowsOf(newest)]);
  const user = graph.op("Gemm", [pooled, float("projection", [width, width]), float("everyone", [width])]);
  const size = graph.op("ReduceL2", [user, integers(graph, -1)]);
  const unit = graph.op("Div", [user, graph.op("Max", [size, scalar(graph, 1e-6)])]);
  return {
    scores: served.scoresOf(unit),
    weights: [...served.files, ...box.files],
    truncation: served.truncation,
    recipe: {
      recipe: {
        kind: "pooled",
        length,
        width,
        vectors: served.recipe,
        lengths: box.pathOf("lengths"),
        ...(ordered && { place_weights: box.pathOf("place_weights") }),
        projection: box.pathOf("projection"),
        everyone: box.pathOf("everyone"),
      },
      arrays: {
        ...served.arrays,
        ...(ordered && { [box.pathOf("place_weights")]: parameters.get("place_weights")!.value }),
        [box.pathOf("projection")]: parameters.get("projection")!.value,
        [box.pathOf("everyone")]: parameters.get("everyone")!.value,
      },
    },
  };
}

export const POOLED_EXPORT: NetworkExport<PooledShape> = {
  append: appendPooled,
  bytesCoded: (shape) => codedItemBytes(shape) + 4 * shape.itemCount,
};

/** float32 [L]: exp of the learnt weight of each entry's distance from the newest entry, which is the last. */
function placeWeights(graph: GraphBuilder, items: string, table: string): string {
  const count = graph.op("Squeeze", [graph.op("Shape", [items])]);
  const ascending = graph.op("Range", [integer(graph, 0), count, integer(graph, 1)]);
  // Range(count − 1, −1, −1) would be wrong: ONNX Runtime 1.30 fuses it with Gather into a Slice that ends at the last entry.
  const places = graph.op("Sub", [graph.op("Sub", [count, integer(graph, 1)]), ascending]);
  return graph.op("Exp", [graph.op("Gather", [table, places])]);
}

function unitsAndLengths(parameters: Averages, { itemCount, width }: PooledShape) {
  const units = parameters.get(ITEM_TABLE)!.value.slice();
  const lengths = new Float32Array(itemCount);
  for (let item = 0; item < itemCount; item++) {
    const row = units.subarray(item * width, (item + 1) * width);
    const length = Math.max(1e-6, Math.hypot(...row));
    lengths[item] = length;
    for (let i = 0; i < width; i++) row[i] = row[i]! / length;
  }
  return { units, lengths };
}
