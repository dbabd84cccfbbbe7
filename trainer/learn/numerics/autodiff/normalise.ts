import { integers, rowSums, scalar, sumOver } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

const EPSILON = 1e-5;

/**
 * Layer normalisation over the last axis (Ba, Kiros and Hinton 2016): gain ∘ (x − mean) / √(variance + ε) + bias.
 * With n = the normalised x, r = 1 / √(variance + ε), g = dOutput ∘ gain: dx = r (g − mean(g) − n ∘ mean(g ∘ n)).
 */
export function layerNorm(tape: Tape, x: Tensor, { gain, bias }: { gain: Tensor; bias: Tensor }): Tensor {
  const { graph } = tape;
  const [output, mean, inverse] = graph.ops("LayerNormalization", [x.value, gain.value, bias.value], 3, {
    epsilon: { float: EPSILON },
  }) as [string, string, string];
  const backward = (dOutput: string) => {
    const normal = graph.op("Mul", [graph.op("Sub", [x.value, mean]), inverse]);
    const dNormal = graph.op("Mul", [dOutput, gain.value]);
    const along = graph.op("Mul", [normal, rowMeans(tape, graph.op("Mul", [dNormal, normal]))]);
    const centred = graph.op("Sub", [dNormal, rowMeans(tape, dNormal)]);
    const dx = graph.op("Mul", [graph.op("Sub", [centred, along]), inverse]);
    return [dx, sumOver(graph, graph.op("Mul", [dOutput, normal]), 0), sumOver(graph, dOutput, 0)];
  };
  return tape.record({ output: { value: output }, inputs: [x, gain, bias], backward });
}

/** x / max(|x|, ε) per row: unit vectors. With u the result: dx = (dOutput − u (dOutput · u)) / |x|. */
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

const rowMeans = ({ graph }: Tape, value: string) => graph.op("ReduceMean", [value, integers(graph, -1)]);
