import { sumOver } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

/** x w + b: [rows, in] · [in, out] → [rows, out]. */
export function linear(tape: Tape, x: Tensor, { weight, bias }: { weight: Tensor; bias?: Tensor }): Tensor {
  const { graph } = tape;
  const output = graph.op("Gemm", [x.value, weight.value, ...(bias ? [bias.value] : [])]);
  return tape.record({
    output: { value: output },
    inputs: [x, weight, ...(bias ? [bias] : [])],
    backward: (dOutput) => [
      graph.op("Gemm", [dOutput, weight.value], { transB: { int: 1 } }),
      graph.op("Gemm", [x.value, dOutput], { transA: { int: 1 } }),
      sumOver(graph, dOutput, 0),
    ],
  });
}
