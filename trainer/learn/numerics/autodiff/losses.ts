/** Parts of softmax losses as composite operators: of the [rows, items] matrix, they keep only the probabilities. */
import type { GraphBuilder } from "../onnx/graph.ts";
import { integers, narrowProduct, rowSums, scalar } from "../onnx/graph-shorthand.ts";
import type { Tape, Tensor } from "./tape.ts";

export type LogPartition = {
  /** [rows, d] */
  readonly hidden: Tensor;
  /** [items, d] */
  readonly items: Tensor;
  /** float32 [items], added to the scores; without gradient. */
  readonly correction: string;
  /** float32 [rows]: the weight of each row; without gradient. */
  readonly weights: string;
  /** int32 [places]: cells of the flattened [rows, items] scores that are left out of the sums; absent: none. */
  readonly leftOut?: string | undefined;
};

/** The score of an item that is left out: its exponential is 0. */
const LEFT_OUT = -1e9;

/**
 * Σ weight · log Σ exp(hidden · itemsᵀ + correction): the part of a softmax loss that lowers the scores of all items. With P
 * the probabilities, E the items, H the hidden rows and w the weights: dHidden = w ∘ (P E), dItems = Pᵀ (w ∘ H).
 */
export function logPartition(tape: Tape, { hidden, items, correction, weights, leftOut }: LogPartition): Tensor {
  const { graph } = tape;
  const all = graph.op("Gemm", [hidden.value, items.value, correction], { transB: { int: 1 } });
  const scores = leftOut === undefined ? all : withoutPlaces(graph, all, leftOut);
  const probabilities = graph.op("Softmax", [scores]);
  // For the best item of a row, log P = score − log Σ exp(score), and P is at least 1 / items.
  const largest = (value: string) => graph.op("ReduceMax", [value, integers(graph, 1)], { keepdims: { int: 0 } });
  const logs = graph.op("Sub", [largest(scores), graph.op("Log", [largest(probabilities)])]);
  const output = graph.op("ReduceSum", [graph.op("Mul", [logs, weights])], { keepdims: { int: 0 } });
  const backward = (dOutput: string) => {
    const dRow = graph.op("Mul", [graph.op("Unsqueeze", [weights, integers(graph, 1)]), dOutput]);
    const weighted = graph.op("Mul", [hidden.value, dRow]);
    return [
      graph.op("Mul", [graph.op("Gemm", [probabilities, items.value]), dRow]),
      narrowProduct(graph, probabilities, weighted),
    ];
  };
  return tape.record({ output: { value: output }, inputs: [hidden, items], backward });
}

function withoutPlaces(graph: GraphBuilder, scores: string, places: string): string {
  const flat = graph.op("Reshape", [scores, integers(graph, -1)]);
  const values = graph.op("Expand", [scalar(graph, LEFT_OUT), graph.op("Shape", [places])]);
  return graph.op("Reshape", [graph.op("ScatterElements", [flat, places, values]), graph.op("Shape", [scores])]);
}

/** Σ over rows of a · b, a scalar: the part of a softmax loss that raises the scores of the targets. */
export function dotProducts(tape: Tape, a: Tensor, b: Tensor): Tensor {
  const { graph } = tape;
  const products = rowSums(graph, graph.op("Mul", [a.value, b.value]));
  const output = graph.op("ReduceSum", [products], { keepdims: { int: 0 } });
  const backward = (dOutput: string) => [graph.op("Mul", [b.value, dOutput]), graph.op("Mul", [a.value, dOutput])];
  return tape.record({ output: { value: output }, inputs: [a, b], backward });
}
