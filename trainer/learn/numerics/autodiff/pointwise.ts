import { scalar } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

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

/** x ∘ mask, the mask without gradient: 0 or 1 / (1 − rate), drawn outside the graph. An absent mask gives x. */
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

/** The sum of all elements, a scalar. */
export function total(tape: Tape, x: Tensor): Tensor {
  const { graph } = tape;
  const output = graph.op("ReduceSum", [x.value], { keepdims: { int: 0 } });
  const backward = (dOutput: string) => [graph.op("Expand", [dOutput, graph.op("Shape", [x.value])])];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

/** eˣ. */
export function exponential(tape: Tape, x: Tensor): Tensor {
  const { graph } = tape;
  const output = graph.op("Exp", [x.value]);
  return tape.record({
    output: { value: output },
    inputs: [x],
    backward: (dOutput) => [graph.op("Mul", [dOutput, output])],
  });
}
