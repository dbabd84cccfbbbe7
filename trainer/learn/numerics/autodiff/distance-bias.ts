import type { GraphBuilder } from "../onnx/graph.ts";
import { cast, integers, sumOver } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

export type DistanceLayout = {
  /** int64 [length]: 0 … length − 1. */
  readonly places: string;
  /** int32 (length, length): how far back a key lies, 0 for the future. */
  readonly distances: string;
  /** float32 (length, length): 0, or so negative for the future that no attention is left. */
  readonly future: string;
};

/**
 * (heads, query, key): table[distance, head] where the key lies `distance` back, and the future shut out (T5's relative biases,
 * Raffel et al. 2020, without buckets). `table` is a parameter, [distances, heads], with a row for every distance.
 *
 * Its derivative adds up each diagonal: rows of length + 1 put the entries of a diagonal below one another.
 */
export function distanceBias(tape: Tape, table: Tensor, { places, distances, future }: DistanceLayout): Tensor {
  const { graph } = tape;
  const byDistance = graph.op("Transpose", [graph.op("Gather", [table.value, distances])], {
    perm: { ints: [2, 0, 1] },
  });
  const output = graph.op("Add", [byDistance, future]);
  const backward = (dOutput: string) => {
    const rows = diagonalSums(graph, dOutput, places);
    tape.rowGradient(table, { indices: cast(graph, places, "int32"), rows });
    return [undefined];
  };
  return tape.record({ output: { value: output }, inputs: [table], backward });
}

/** Of (heads, n, n) without anything above the diagonal: [n, heads], by distance from it. */
function diagonalSums(graph: GraphBuilder, squares: string, places: string): string {
  const length = graph.op("Shape", [places]);
  const next = graph.op("Add", [length, integers(graph, 1)]);
  const flat = graph.op("Reshape", [squares, integers(graph, 0, -1)]);
  const padded = graph.op("Pad", [flat, graph.op("Concat", [integers(graph, 0, 0, 0), length], { axis: { int: 0 } })]);
  const skewShape = graph.op("Concat", [integers(graph, 0), length, next], { axis: { int: 0 } });
  const sums = sumOver(graph, graph.op("Reshape", [padded, skewShape]), 1); // [heads, n + 1], distance d in column −d mod n + 1
  const columns = graph.op("Mod", [graph.op("Sub", [next, places]), next]);
  return graph.op("Gather", [graph.op("Transpose", [sums], { perm: { ints: [1, 0] } }), columns]);
}
