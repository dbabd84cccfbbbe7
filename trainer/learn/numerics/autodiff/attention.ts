import type { GraphBuilder } from "../onnx/graph.ts";
import { cast, integers, MICROSOFT, rowSums, sumOver } from "../onnx/graph-shorthand.ts";
import type { Tape, Tensor } from "./tape.ts";

export type AttentionInputs = {
  /** (batch, head, query, headSize) */
  readonly queries: Tensor;
  /** (batch, head, key, headSize), as the values. */
  readonly keys: Tensor;
  readonly values: Tensor;
  /** (head or 1, query, key), added to the scaled products; very negative where a query must not see a key. */
  readonly bias: Tensor;
  readonly headSize: number;
};

/**
 * softmax(QKᵀ/√headSize + bias) V (Vaswani et al. 2017, eq. 1), one composite operator. The derivative needs rowsum(dP ∘ P);
 * rowsum(dO ∘ O) is the same and headSize / keys times the work (Dao et al. 2022, appendix B.2).
 */
export function attention(tape: Tape, { queries, keys, values, bias, headSize }: AttentionInputs): Tensor {
  const { graph } = tape;
  const shrink = { float: 1 / Math.sqrt(headSize) };
  const product = (a: string, b: string, attributes: Parameters<typeof graph.op>[2] = {}) =>
    graph.op("FusedMatMul", [a, b], attributes, MICROSOFT);
  const scores = graph.op("Add", [
    product(queries.value, keys.value, { transB: { int: 1 }, alpha: shrink }),
    bias.value,
  ]);
  const weights = graph.op("Softmax", [scores]);
  const output = product(weights, values.value);

  const backward = (dOutput: string) => {
    const dWeights = product(dOutput, values.value, { transB: { int: 1 } });
    const along = rowSums(graph, graph.op("Mul", [dOutput, output]));
    const dScores = graph.op("Mul", [weights, graph.op("Sub", [dWeights, along])]);
    return [
      product(dScores, keys.value, { alpha: shrink }),
      product(dScores, queries.value, { transA: { int: 1 }, alpha: shrink }),
      product(weights, dOutput, { transA: { int: 1 } }),
      sumOver(graph, dScores, 0),
    ];
  };
  return tape.record({ output: { value: output }, inputs: [queries, keys, values, bias], backward });
}

/** [batch · length, heads · headSize] → (batch, head, length, headSize). `shape4` int64: batch, length, heads, headSize. */
export function splitHeads(tape: Tape, x: Tensor, { shape4, width }: { shape4: string; width: number }): Tensor {
  const { graph } = tape;
  const output = swapMiddle(tape, graph.op("Reshape", [x.value, shape4]));
  const backward = (dOutput: string) => [flat(tape, swapMiddle(tape, dOutput), width)];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

/** The inverse of splitHeads: (batch, head, length, headSize) → [batch · length, heads · headSize = width]. */
export function joinHeads(tape: Tape, x: Tensor, { shape4, width }: { shape4: string; width: number }): Tensor {
  const { graph } = tape;
  const output = flat(tape, swapMiddle(tape, x.value), width);
  const backward = (dOutput: string) => [swapMiddle(tape, graph.op("Reshape", [dOutput, shape4]))];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

const swapMiddle = ({ graph }: Tape, value: string) => graph.op("Transpose", [value], { perm: { ints: [0, 2, 1, 3] } });
const flat = ({ graph }: Tape, value: string, width: number) =>
  graph.op("Reshape", [value, integers(graph, -1, width)]);

export type DistanceLayout = {
  /** int64 [length]: 0 … length − 1. */
  readonly places: string;
  /** int32 (length, length): how far a key lies behind the query, 0 for later keys. */
  readonly distances: string;
  /** float32 (length, length): 0, or for later keys so negative that no attention is left. */
  readonly future: string;
};

/**
 * (heads, query, key): table[distance, head] for a key that lies `distance` behind the query, with later keys shut out (the
 * relative biases of T5, Raffel et al. 2020, without buckets). `table` is a parameter, [distances, heads].
 *
 * The derivative adds up each diagonal: in rows of length + 1, the entries of a diagonal stand below one another.
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

/** (heads, n, n) with zeros above the diagonal → [n, heads]: sums by distance from the diagonal. */
function diagonalSums(graph: GraphBuilder, squares: string, places: string): string {
  const length = graph.op("Shape", [places]);
  const next = graph.op("Add", [length, integers(graph, 1)]);
  const rows = graph.op("Reshape", [squares, integers(graph, 0, -1)]);
  const padded = graph.op("Pad", [rows, graph.op("Concat", [integers(graph, 0, 0, 0), length], { axis: { int: 0 } })]);
  const skewShape = graph.op("Concat", [integers(graph, 0), length, next], { axis: { int: 0 } });
  const sums = sumOver(graph, graph.op("Reshape", [padded, skewShape]), 1); // [heads, n + 1], distance d in column −d mod n + 1
  const columns = graph.op("Mod", [graph.op("Sub", [next, places]), next]);
  return graph.op("Gather", [graph.op("Transpose", [sums], { perm: { ints: [1, 0] } }), columns]);
}
