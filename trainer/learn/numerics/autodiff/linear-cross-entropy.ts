import { cast, integers, narrowProduct, scalar } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

export type LinearCrossEntropy = {
  /** [rows, d] */
  readonly hidden: Tensor;
  /** A parameter, [items, d]. */
  readonly table: Tensor;
  /** int32 [rows]: the row of `table` that each row should choose. */
  readonly targets: string;
  /** What competes: absent, every row of the table. */
  readonly candidates?: {
    /** int32 [candidates] rows of the table, none twice, every target among them. */
    readonly indices: string;
    /** int32 [rows] each target's place in `indices`. */
    readonly targetPlaces: string;
    /** float32 [candidates], added to the scores: −log of how often a candidate is expected in a draw. */
    readonly correction: string;
  };
};

/**
 * Mean over rows of −log softmax(hidden · tableᵀ)[target], one composite operator: of the [rows, items] matrix only
 * the probabilities P are kept. dHidden = (P E − E[target]) / rows, dE = (Pᵀ H − scatter(H to targets)) / rows.
 * With candidates it is the sampled softmax with correction (Jean et al. 2015; Yi et al. 2019).
 */
export function linearCrossEntropy(tape: Tape, inputs: LinearCrossEntropy): Tensor {
  const { graph } = tape;
  const { hidden, table, targets, candidates } = inputs;
  const rivals = candidates ? graph.op("Gather", [table.value, candidates.indices]) : table.value;
  const correction = candidates ? [candidates.correction] : [];
  const logits = graph.op("Gemm", [hidden.value, rivals, ...correction], { transB: { int: 1 } });
  const chances = graph.op("Softmax", [logits]);
  const places = graph.op("Unsqueeze", [candidates?.targetPlaces ?? targets, integers(graph, 1)]);
  const chosen = graph.op("GatherElements", [chances, places], { axis: { int: 1 } });
  const surprise = graph.op("Log", [graph.op("Max", [chosen, scalar(graph, 1e-30)])]);
  const loss = graph.op("Neg", [graph.op("ReduceMean", [surprise], { keepdims: { int: 0 } })]);

  const backward = (dLoss: string) => {
    const rowCount = cast(graph, graph.op("Size", [targets]), "float32");
    const share = graph.op("Div", [dLoss, rowCount]);
    const targetRows = graph.op("Gather", [table.value, targets]);
    const pull = graph.op("Sub", [graph.op("Gemm", [chances, rivals]), targetRows]);
    const weighted = graph.op("Mul", [hidden.value, share]);
    const dRivals = narrowProduct(graph, chances, weighted);
    tape.rowGradient(table, { indices: targets, rows: graph.op("Neg", [weighted]) });
    if (candidates) tape.rowGradient(table, { indices: candidates.indices, rows: dRivals });
    return [graph.op("Mul", [pull, share]), candidates ? undefined : dRivals];
  };
  return tape.record({ output: { value: loss }, inputs: [hidden, table], backward });
}
