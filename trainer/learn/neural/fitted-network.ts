import type { FittedModel, GraphPart, Params, PartBudget } from "../model.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { exportScores } from "../scoring/scoring-graph.ts";
import type { Averages } from "./averages.ts";

/** The shape of a network, and its learnt parameters by name. */
export type Trained<Shape> = { readonly shape: Shape; readonly parameters: Averages };

export type FittedNetwork<Shape> = FittedModel & { readonly network: Trained<Shape> };

/** How networks of a kind are served. */
export type NetworkExport<Shape> = {
  /** Adds the network's scoring to a graph. */
  readonly append: (graph: GraphBuilder, items: string, network: Trained<Shape>, budget: PartBudget) => GraphPart;
  /** `FittedModel.bytesCoded` of a network of that shape. */
  readonly bytesCoded: (shape: Shape) => number;
};

export function fittedNetwork<Shape extends { readonly itemCount: number; readonly length: number }>(
  { method, params }: { readonly method: string; readonly params: Params },
  network: Trained<Shape>,
  served: NetworkExport<Shape>,
): FittedNetwork<Shape> {
  const { itemCount, length: historyMax } = network.shape;
  const append = (graph: GraphBuilder, items: string, budget: PartBudget) =>
    served.append(graph, items, network, budget);
  return {
    method,
    params,
    network,
    itemCount,
    historyMax,
    append,
    bytesCoded: () => served.bytesCoded(network.shape),
    export: exportScores(method, itemCount, append),
  };
}
