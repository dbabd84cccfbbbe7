/** The plain operators. Each one writes its forward nodes and its derivative next to each other. */
import { integers, rowSums, scalar, sumOver } from "../onnx/graph-shorthand.ts";
import type { Tape, Tensor } from "./tape.ts";

/** a + b, of one shape; a constant b may be broadcast to the shape of a. */
export function add(tape: Tape, a: Tensor, b: Tensor): Tensor {
  const output = { value: tape.graph.op("Add", [a.value, b.value]) };
  return tape.record({ output, inputs: [a, b], backward: (dOutput) => [dOutput, dOutput] });
}

/** a ∘ b, of one shape. */
export function multiply(tape: Tape, a: Tensor, b: Tensor): Tensor {
  const { graph } = tape;
  const output = { value: graph.op("Mul", [a.value, b.value]) };
  const backward = (dOutput: string) => [graph.op("Mul", [dOutput, b.value]), graph.op("Mul", [dOutput, a.value])];
  return tape.record({ output, inputs: [a, b], backward });
}

/** factor · x. */
export function scale(tape: Tape, x: Tensor, factor: number): Tensor {
  const { graph } = tape;
  const times = (value: string) => graph.op("Mul", [value, scalar(graph, factor)]);
  return tape.record({ output: { value: times(x.value) }, inputs: [x], backward: (dOutput) => [times(dOutput)] });
}

/** x ∘ mask. The mask has no gradient; its values are 0 or 1 / (1 − rate), drawn outside the graph. Without a mask: x. */
export function dropout(tape: Tape, x: Tensor, mask: string | undefined): Tensor {
  if (mask === undefined) return x;
  const { graph } = tape;
  const masked = (value: string) => graph.op("Mul", [value, mask]);
  return tape.record({ output: { value: masked(x.value) }, inputs: [x], backward: (dOutput) => [masked(dOutput)] });
}

/** max(x, 0). The derivative at 0 is 0. */
export function relu(tape: Tape, x: Tensor): Tensor {
  const { graph } = tape;
  const output = graph.op("Relu", [x.value]);
  const backward = (dOutput: string) => [graph.op("Mul", [dOutput, graph.op("Sign", [output])])];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

/** eˣ. */
export function exponential(tape: Tape, x: Tensor): Tensor {
  const { graph } = tape;
  const output = graph.op("Exp", [x.value]);
  const backward = (dOutput: string) => [graph.op("Mul", [dOutput, output])];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

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

const LAYER_NORM_EPSILON = 1e-5;

/**
 * Layer normalisation over the last axis (Ba, Kiros and Hinton 2016): gain ∘ (x − mean) / √(variance + ε) + bias.
 * With n = the normalised x, r = 1 / √(variance + ε), g = dOutput ∘ gain: dx = r (g − mean(g) − n ∘ mean(g ∘ n)).
 */
export function layerNorm(tape: Tape, x: Tensor, { gain, bias }: { gain: Tensor; bias: Tensor }): Tensor {
  const { graph } = tape;
  const [output, mean, inverse] = graph.ops("LayerNormalization", [x.value, gain.value, bias.value], 3, {
    epsilon: { float: LAYER_NORM_EPSILON },
  }) as [string, string, string];
  const rowMeans = (value: string) => graph.op("ReduceMean", [value, integers(graph, -1)]);
  const backward = (dOutput: string) => {
    const normal = graph.op("Mul", [graph.op("Sub", [x.value, mean]), inverse]);
    const dNormal = graph.op("Mul", [dOutput, gain.value]);
    const along = graph.op("Mul", [normal, rowMeans(graph.op("Mul", [dNormal, normal]))]);
    const centred = graph.op("Sub", [dNormal, rowMeans(dNormal)]);
    const dx = graph.op("Mul", [graph.op("Sub", [centred, along]), inverse]);
    return [dx, sumOver(graph, graph.op("Mul", [dOutput, normal]), 0), sumOver(graph, dOutput, 0)];
  };
  return tape.record({ output: { value: output }, inputs: [x, gain, bias], backward });
}

/** Unit vectors: x / max(|x|, ε) per row. With u the result, dx = (dOutput − u (dOutput · u)) / |x|. */
export function unitRows(tape: Tape, x: Tensor): Tensor {
  const { graph } = tape;
  const length = graph.op("Max", [graph.op("ReduceL2", [x.value, integers(graph, -1)]), scalar(graph, 1e-6)]);
  const output = graph.op("Div", [x.value, length]);
  const backward = (dOutput: string) => {
    const along = rowSums(graph, graph.op("Mul", [dOutput, output]));
    return [graph.op("Div", [graph.op("Sub", [dOutput, graph.op("Mul", [output, along])]), length])];
  };
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

/**
 * Rows of a parameter: [rows, …] and indices of any shape → shape of the indices × […]. The gradient leaves the graph row by
 * row and is added up in typed arrays: ScatterND with reduction=add is wrong for repeated indices on several threads, and
 * ScatterElements is 35 times slower.
 */
export function gatherRows(tape: Tape, table: Tensor, indices: string): Tensor {
  const output = { value: tape.graph.op("Gather", [table.value, indices]) };
  const backward = (rows: string) => {
    tape.rowGradient(table, { indices, rows });
    return [undefined];
  };
  return tape.record({ output, inputs: [table], backward });
}

/**
 * Distinct rows of a computed tensor: [rows, d] → [selected, d]. `inverse` [rows] is the place of each row in `positions`,
 * or `selected` (one past the end) for a row that is not selected.
 */
export function selectRows(tape: Tape, x: Tensor, by: { positions: string; inverse: string }): Tensor {
  const { graph } = tape;
  const output = graph.op("Gather", [x.value, by.positions]);
  const backward = (dOutput: string) => {
    const withZeroRow = graph.op("Pad", [dOutput, integers(graph, 0, 0, 1, 0)]);
    return [graph.op("Gather", [withZeroRow, by.inverse])];
  };
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

/** Weighted sums: rows (…, member, d) and weights (…, member) → (…, d). Padding has weight 0. */
export function poolRows(tape: Tape, rows: Tensor, weights: Tensor): Tensor {
  const { graph } = tape;
  const unsqueeze = (value: string, axis: number) => graph.op("Unsqueeze", [value, integers(graph, axis)]);
  const squeeze = (value: string, axis: number) => graph.op("Squeeze", [value, integers(graph, axis)]);
  const output = squeeze(graph.op("MatMul", [unsqueeze(weights.value, -2), rows.value]), -2);
  const backward = (dOutput: string) => [
    graph.op("Mul", [unsqueeze(weights.value, -1), unsqueeze(dOutput, -2)]),
    squeeze(graph.op("MatMul", [rows.value, unsqueeze(dOutput, -1)]), -1),
  ];
  return tape.record({ output: { value: output }, inputs: [rows, weights], backward });
}
