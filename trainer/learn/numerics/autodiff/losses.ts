import { cast, integers, narrowProduct, scalar } from "../onnx/graph-shorthand.ts";
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
 * A composite operator, which keeps only the probabilities of the [rows, items] matrix.
 *
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
