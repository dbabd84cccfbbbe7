import type { FittedModel, GraphPart, Params, PartBudget } from "../model.ts";
import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { exportScores } from "../scoring/scoring-graph.ts";
import type { Averages } from "./averages.ts";

/** The shape of a network, and its learnt parameters by name. */
export type Trained<Shape> = { readonly shape: Shape; readonly parameters: Averages };

export type FittedNetwork<Shape> = FittedModel & { readonly network: Trained<Shape> };

/** @param appendNetwork Adds the network's scoring to a graph. */
export function fittedNetwork<Shape extends { readonly itemCount: number; readonly length: number }>(
  { method, params }: { readonly method: string; readonly params: Params },
  network: Trained<Shape>,
  appendNetwork: (graph: GraphBuilder, items: string, network: Trained<Shape>, budget: PartBudget) => GraphPart,
): FittedNetwork<Shape> {
  const { itemCount, length: historyMax } = network.shape;
  const append = (graph: GraphBuilder, items: string, budget: PartBudget) =>
    appendNetwork(graph, items, network, budget);
  return { method, params, network, itemCount, historyMax, append, export: exportScores(method, itemCount, append) };
}
