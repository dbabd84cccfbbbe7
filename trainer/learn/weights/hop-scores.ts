import type { GraphBuilder } from "../numerics/onnx/graph.ts";
import { cast, gather, int64 } from "../numerics/onnx/graph-shorthand.ts";
import type { EncodedHops } from "./hop-weights.ts";
import { addSparseScores, type ExternalFile, type WeighedHistory } from "./sparse-scores.ts";

/** float32 [columnCount]: from the history to the users who share items with it, and on to their items. */
export function hopScores(graph: GraphBuilder, history: WeighedHistory, hops: EncodedHops, file: ExternalFile): string {
  const { toUsers, toItems } = hops;
  const vector = (name: string, values: Float32Array) => file(name, "float32", [values.length], values);
  const within =
    (hop: string): ExternalFile =>
    (name, ...rest) =>
      file(`${hop}_${name}`, ...rest);
  const zeros = (count: number) => graph.op("ConstantOfShape", [graph.constant(int64([1], count))]);
  const product = (a: string, b: string) => graph.op("Mul", [a, b]);

  const entries: WeighedHistory = {
    items: history.items,
    weights: product(history.weights, gather(graph, vector("row_factors", hops.rowFactors), history.items)),
  };
  const sums = addSparseScores(graph, zeros(hops.userFactors.length), entries, {
    matrix: toUsers,
    file: within("users"),
  });
  const users = reached(graph, product(sums, vector("user_factors", hops.userFactors)));
  const scores = addSparseScores(graph, zeros(hops.columnFactors.length), users, {
    matrix: toItems,
    file: within("items"),
  });
  return product(scores, vector("column_factors", hops.columnFactors));
}

/** The users of a hop whose sums are not 0, as the history of the next hop. */
function reached(graph: GraphBuilder, sums: string): WeighedHistory {
  const places = graph.op("Reshape", [graph.op("NonZero", [sums]), graph.constant(int64([1], -1))]);
  return { items: cast(graph, places, "int32"), weights: gather(graph, sums, places) };
}
