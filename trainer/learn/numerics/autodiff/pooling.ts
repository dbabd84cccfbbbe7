import { integers } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

/** Weighted sums: rows (group, member, d) and weights (group, member) → (group, d). Padding has weight 0. */
export function poolRows(tape: Tape, rows: Tensor, weights: Tensor): Tensor {
  const { graph } = tape;
  const unsqueeze = (value: string, axis: number) => graph.op("Unsqueeze", [value, integers(graph, axis)]);
  const squeeze = (value: string, axis: number) => graph.op("Squeeze", [value, integers(graph, axis)]);
  const output = squeeze(graph.op("MatMul", [unsqueeze(weights.value, 1), rows.value]), 1);
  const backward = (dOutput: string) => [
    graph.op("Mul", [unsqueeze(weights.value, 2), unsqueeze(dOutput, 1)]),
    squeeze(graph.op("MatMul", [rows.value, unsqueeze(dOutput, 2)]), 2),
  ];
  return tape.record({ output: { value: output }, inputs: [rows, weights], backward });
}
