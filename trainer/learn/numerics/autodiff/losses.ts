/** Softmax losses as composite operators: of the [rows, items] matrix, they keep only the probabilities. */
import { cast, integers, narrowProduct, rowSums, scalar } from "../onnx/graph-shorthand.ts";
import type { Tape, Tensor } from "./tape.ts";

export type LinearCrossEntropy = {
  /** [rows, d] */
  readonly hidden: Tensor;
  /** A parameter, [items, d]. */
  readonly table: Tensor;
  /** int32 [rows]: the right item of each row. */
  readonly targets: string;
  /** The items that compete with the targets; absent: every item. */
  readonly candidates?: {
    /** int32 [candidates]: distinct items, all targets among them. */
    readonly indices: string;
    /** int32 [rows]: the place of each target in `indices`. */
    readonly targetPlaces: string;
    /** float32 [candidates], added to the scores: −log of the expected number of times that a draw contains the candidate. */
    readonly correction: string;
  };
};

/**
 * Mean over rows of −log softmax(hidden · tableᵀ)[target]. With P the probabilities, E the table and H the hidden rows:
 * dHidden = (P E − E[target]) / rows, dE = (Pᵀ H − scatter(H to targets)) / rows.
 * With candidates it is the sampled softmax with correction (Jean et al. 2015; Yi et al. 2019).
 */
export function linearCrossEntropy(tape: Tape, inputs: LinearCrossEntropy): Tensor {
  const { graph } = tape;
  const { hidden, table, targets, candidates } = inputs;
  const rivals = candidates ? graph.op("Gather", [table.value, candidates.indices]) : table.value;
  const correction = candidates ? [candidates.correction] : [];
  const logits = graph.op("Gemm", [hidden.value, rivals, ...correction], { transB: { int: 1 } });
  const probabilities = graph.op("Softmax", [logits]);
  const places = graph.op("Unsqueeze", [candidates?.targetPlaces ?? targets, integers(graph, 1)]);
  const ofTargets = graph.op("GatherElements", [probabilities, places], { axis: { int: 1 } });
  const logs = graph.op("Log", [graph.op("Max", [ofTargets, scalar(graph, 1e-30)])]);
  const loss = graph.op("Neg", [graph.op("ReduceMean", [logs], { keepdims: { int: 0 } })]);

  const backward = (dLoss: string) => {
    const rowCount = cast(graph, graph.op("Size", [targets]), "float32");
    const dRow = graph.op("Div", [dLoss, rowCount]);
    const targetRows = graph.op("Gather", [table.value, targets]);
    const pull = graph.op("Sub", [graph.op("Gemm", [probabilities, rivals]), targetRows]);
    const weighted = graph.op("Mul", [hidden.value, dRow]);
    const dRivals = narrowProduct(graph, probabilities, weighted);
    tape.rowGradient(table, { indices: targets, rows: graph.op("Neg", [weighted]) });
    if (candidates) tape.rowGradient(table, { indices: candidates.indices, rows: dRivals });
    return [graph.op("Mul", [pull, dRow]), candidates ? undefined : dRivals];
  };
  return tape.record({ output: { value: loss }, inputs: [hidden, table], backward });
}

export type LogPartition = {
  /** [rows, d] */
  readonly hidden: Tensor;
  /** [items, d] */
  readonly items: Tensor;
  /** float32 [items], added to the scores; without gradient. */
  readonly correction: string;
  /** float32 [rows]: the weight of each row; without gradient. */
  readonly weights: string;
};

/**
 * Σ weight · log Σ exp(hidden · itemsᵀ + correction): the part of a softmax loss that lowers the scores of all items. With P
 * the probabilities, E the items, H the hidden rows and w the weights: dHidden = w ∘ (P E), dItems = Pᵀ (w ∘ H).
 */
export function logPartition(tape: Tape, { hidden, items, correction, weights }: LogPartition): Tensor {
  const { graph } = tape;
  const scores = graph.op("Gemm", [hidden.value, items.value, correction], { transB: { int: 1 } });
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

/** Σ over rows of a · b, a scalar: the part of a softmax loss that raises the scores of the targets. */
export function dotProducts(tape: Tape, a: Tensor, b: Tensor): Tensor {
  const { graph } = tape;
  const products = rowSums(graph, graph.op("Mul", [a.value, b.value]));
  const output = graph.op("ReduceSum", [products], { keepdims: { int: 0 } });
  const backward = (dOutput: string) => [graph.op("Mul", [b.value, dOutput]), graph.op("Mul", [a.value, dOutput])];
  return tape.record({ output: { value: output }, inputs: [a, b], backward });
}
