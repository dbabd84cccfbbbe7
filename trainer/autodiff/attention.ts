import { integers, MICROSOFT, rowSums, sumOver } from "./graph-shorthand.ts";
import type { Tape, Tensor } from "./tape.ts";

export type AttentionInputs = {
  /** (batch, head, query, headSize) */
  readonly queries: Tensor;
  /** (batch, head, key, headSize), as the values. */
  readonly keys: Tensor;
  readonly values: Tensor;
  /** (head or 1, query, key), added to the scaled products; very negative where a query may not look. */
  readonly bias: Tensor;
  /** (batch, head, query, key): 0 or 1 / (1 − rate). */
  readonly mask?: string | undefined;
  readonly headSize: number;
};

/**
 * softmax(QKᵀ/√headSize + bias) V (Vaswani et al. 2017, eq. 1), one composite operator. Its derivative needs
 * rowsum(dP ∘ P) = rowsum(dO ∘ O), which is headSize / keys times as much work (Dao et al. 2022, appendix B.2).
 */
export function attention(tape: Tape, { queries, keys, values, bias, mask, headSize }: AttentionInputs): Tensor {
  const { graph } = tape;
  const shrink = { float: 1 / Math.sqrt(headSize) };
  const product = (a: string, b: string, attributes: Parameters<typeof graph.op>[2] = {}) =>
    graph.op("FusedMatMul", [a, b], attributes, MICROSOFT);
  const masked = (value: string) => (mask === undefined ? value : graph.op("Mul", [value, mask]));

  const scores = graph.op("Add", [
    product(queries.value, keys.value, { transB: { int: 1 }, alpha: shrink }),
    bias.value,
  ]);
  const weights = graph.op("Softmax", [scores]);
  const dropped = masked(weights);
  const output = product(dropped, values.value);

  const backward = (dOutput: string) => {
    const dWeights = masked(product(dOutput, values.value, { transB: { int: 1 } }));
    const along = rowSums(graph, graph.op("Mul", [dOutput, output]));
    const dScores = graph.op("Mul", [weights, graph.op("Sub", [dWeights, along])]);
    return [
      product(dScores, keys.value, { alpha: shrink }),
      product(dScores, queries.value, { transA: { int: 1 }, alpha: shrink }),
      product(dropped, dOutput, { transA: { int: 1 } }),
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

/** The way back: (batch, head, length, headSize) → [batch · length, heads · headSize = width]. */
export function joinHeads(tape: Tape, x: Tensor, { shape4, width }: { shape4: string; width: number }): Tensor {
  const { graph } = tape;
  const output = flat(tape, swapMiddle(tape, x.value), width);
  const backward = (dOutput: string) => [swapMiddle(tape, graph.op("Reshape", [dOutput, shape4]))];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

/** Axes in the order `order`: output axis i is input axis order[i]. */
export function transpose(tape: Tape, x: Tensor, order: readonly number[]): Tensor {
  const { graph } = tape;
  const back = order.map((_, axis) => order.indexOf(axis));
  const output = graph.op("Transpose", [x.value], { perm: { ints: order } });
  const backward = (dOutput: string) => [graph.op("Transpose", [dOutput], { perm: { ints: back } })];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

const swapMiddle = ({ graph }: Tape, value: string) => graph.op("Transpose", [value], { perm: { ints: [0, 2, 1, 3] } });
const flat = ({ graph }: Tape, value: string, width: number) =>
  graph.op("Reshape", [value, integers(graph, -1, width)]);
