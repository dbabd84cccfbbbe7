import { integers, rowSums, scalar } from "./graph-shorthand.ts";
import type { Tape, Tensor } from "./tape.ts";

export type SampledCrossEntropy = {
  /** [rows, d] */
  readonly hidden: Tensor;
  /** A parameter, [items, d]. */
  readonly table: Tensor;
  /** int32 [rows]: the row of `table` that each row should choose. */
  readonly targets: string;
  /** int32 [drawn]: rows of `table` that compete for all targets; one may come twice. */
  readonly drawn: string;
  /** float32 [drawn], added to their scores: −log of how often each is expected in such a draw. */
  readonly correction: string;
};

/** Where an item was drawn that is the row's own target. */
const NEVER = -1e9;

/**
 * Mean over rows of −log P(target), with P(target) = eˢ / (eˢ + Σ eˢᵈ⁺ᶜᵈ) over the drawn d that are not the target: the softmax over the
 * catalog, its sum estimated by what was drawn (Bengio and Senécal 2008; Jean et al. 2015). One composite operator; what it does
 * for a row grows with what was drawn, not with the catalog or the batch.
 */
export function sampledCrossEntropy(tape: Tape, inputs: SampledCrossEntropy): Tensor {
  const { graph } = tape;
  const { hidden, table, targets, drawn, correction } = inputs;
  const rivals = graph.op("Gather", [table.value, drawn]);
  const own = graph.op("Gather", [table.value, targets]);
  const scores = graph.op("Gemm", [hidden.value, rivals, correction], { transB: { int: 1 } });
  const isOwn = graph.op("Equal", [graph.op("Unsqueeze", [targets, integers(graph, 1)]), drawn]);
  const masked = graph.op("Where", [isOwn, scalar(graph, NEVER), scores]);
  const ownScores = rowSums(graph, graph.op("Mul", [hidden.value, own]));
  const chances = graph.op("Softmax", [graph.op("Concat", [ownScores, masked], { axis: { int: 1 } })]);
  const chosen = graph.op("Slice", [chances, integers(graph, 0), integers(graph, 1), integers(graph, 1)]);
  const surprise = graph.op("Log", [graph.op("Max", [chosen, scalar(graph, 1e-30)])]);
  const loss = graph.op("Neg", [graph.op("ReduceMean", [surprise], { keepdims: { int: 0 } })]);

  const backward = (dLoss: string) => {
    const rowCount = graph.op("Cast", [graph.op("Size", [targets])], { to: { int: FLOAT } });
    const share = graph.op("Div", [dLoss, rowCount]);
    const weighted = graph.op("Mul", [hidden.value, share]);
    // The first column of the chances is the target's: a row of zeros stands for it among the rivals.
    const below = graph.op("Pad", [rivals, integers(graph, 1, 0, 0, 0)]);
    const missing = graph.op("Sub", [chosen, scalar(graph, 1)]);
    const pull = graph.op("Add", [graph.op("Gemm", [chances, below]), graph.op("Mul", [own, missing])]);
    const products = graph.op("Gemm", [chances, weighted], { transA: { int: 1 } });
    const end = integers(graph, Number.MAX_SAFE_INTEGER);
    const dRivals = graph.op("Slice", [products, integers(graph, 1), end, integers(graph, 0)]);
    tape.rowGradient(table, { indices: targets, rows: graph.op("Mul", [weighted, missing]) });
    tape.rowGradient(table, { indices: drawn, rows: dRivals });
    return [graph.op("Mul", [pull, share]), undefined];
  };
  return tape.record({ output: { value: loss }, inputs: [hidden, table], backward });
}

const FLOAT = 1;
