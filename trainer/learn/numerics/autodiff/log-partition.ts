import { integers, narrowProduct, rowSums } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

export type LogPartition = {
  /** [rows, d] */
  readonly hidden: Tensor;
  /** [items, d] */
  readonly items: Tensor;
  /** float32 [items], added to the scores; without gradient. */
  readonly correction?: string;
  /** float32 [rows]: how much each row counts; without gradient. */
  readonly weights: string;
};

/**
 * Σ weight · log Σ exp(hidden · itemsᵀ + correction), one composite operator: the part of a softmax loss that pushes
 * away. Of the [rows, items] matrix only the probabilities P are kept: dHidden = w ∘ (P E), dItems = Pᵀ (w ∘ H).
 */
export function logPartition(tape: Tape, { hidden, items, correction, weights }: LogPartition): Tensor {
  const { graph } = tape;
  const added = correction === undefined ? [] : [correction];
  const scores = graph.op("Gemm", [hidden.value, items.value, ...added], { transB: { int: 1 } });
  const chances = graph.op("Softmax", [scores]);
  // For the best item of a row, log P = score − log Σ exp(score), and P is at least 1 / items.
  const largest = (value: string) => graph.op("ReduceMax", [value, integers(graph, 1)], { keepdims: { int: 0 } });
  const logs = graph.op("Sub", [largest(scores), graph.op("Log", [largest(chances)])]);
  const output = graph.op("ReduceSum", [graph.op("Mul", [logs, weights])], { keepdims: { int: 0 } });
  const backward = (dOutput: string) => {
    const share = graph.op("Mul", [graph.op("Unsqueeze", [weights, integers(graph, 1)]), dOutput]);
    const weighted = graph.op("Mul", [hidden.value, share]);
    return [
      graph.op("Mul", [graph.op("Gemm", [chances, items.value]), share]),
      narrowProduct(graph, chances, weighted),
    ];
  };
  return tape.record({ output: { value: output }, inputs: [hidden, items], backward });
}

/** Σ over rows of a · b, a scalar: what a softmax loss pulls together. */
export function dotProducts(tape: Tape, a: Tensor, b: Tensor): Tensor {
  const { graph } = tape;
  const products = rowSums(graph, graph.op("Mul", [a.value, b.value]));
  const output = graph.op("ReduceSum", [products], { keepdims: { int: 0 } });
  const backward = (dOutput: string) => [graph.op("Mul", [b.value, dOutput]), graph.op("Mul", [a.value, dOutput])];
  return tape.record({ output: { value: output }, inputs: [a, b], backward });
}
