import * as ort from "onnxruntime-node";
import { expect } from "vitest";
import { multiply } from "../../../../../trainer/learn/numerics/autodiff/operators.ts";
import {
  type Parameter,
  type Parameters,
  parameter,
} from "../../../../../trainer/learn/numerics/autodiff/parameters.ts";
import type { Tensor } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { newTape, type Tape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { compileStep } from "../../../../../trainer/learn/numerics/autodiff/training-step.ts";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";

/** Numbers in (−1, 1) that look random and are the same in every run. */
export const wobble = (seed: number) => (index: number) => Math.sin(12.9898 * (index + 1) + 78.233 * seed);

type Check = {
  /** Parameter name to its shape. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  /** Further parameters, which `build` declares. */
  readonly parameters?: Readonly<Record<string, readonly number[]>>;
  readonly fill?: (index: number) => number;
  /** The operator under test, applied to the parameters. A scalar is the loss itself. */
  readonly build: (tape: Tape, tensors: Readonly<Record<string, Tensor>>) => Tensor;
  /** Shape of the result of `build`; absent for a scalar. */
  readonly outputShape?: readonly number[];
  readonly inputs?: Readonly<Record<string, ort.Tensor>>;
  readonly tolerance?: number;
  /** The step h of the differences; smaller near corners of the function. */
  readonly step?: number;
};

/**
 * Compares every element of every gradient with a central difference of fourth order,
 * f'(x) ≈ (8 (f(x+h) − f(x−h)) − (f(x+2h) − f(x−2h))) / 12 h, relative to the largest element.
 */
export async function checkGradients(check: Check): Promise<void> {
  const { shapes, fill, build, outputShape, inputs = {}, tolerance = 2e-4, step: h = 0.02 } = check;
  const parameters = new Map<string, Parameter>(
    Object.entries({ ...shapes, ...check.parameters }).map(([name, dims], index) => [
      name,
      parameter(dims, fill ?? wobble(index)),
    ]),
  );
  const tape = newTape(graphBuilder("gradient-check"));
  for (const [name, { type, dims }] of Object.entries(inputs)) {
    tape.graph.input(name, type as "int32" | "float32", dims);
  }
  const tensors = Object.fromEntries(Object.entries(shapes).map(([name, dims]) => [name, tape.parameter(name, dims)]));
  const output = build(tape, tensors);
  const step = await compileStep(tape, outputShape ? weighted(tape, output, outputShape) : output, parameters);
  const lossAt = async () => {
    for (const { gradient } of parameters.values()) gradient.fill(0);
    return step.run(inputs);
  };

  await lossAt();
  const analytic = new Map([...parameters].map(([name, { gradient }]) => [name, gradient.slice()]));
  for (const [name, { value }] of parameters) {
    const numeric = new Float64Array(value.length);
    for (let i = 0; i < value.length; i++) {
      const at = value[i]!;
      const moved = async (by: number) => {
        value[i] = at + by;
        return lossAt();
      };
      const near = (await moved(h)) - (await moved(-h));
      const far = (await moved(2 * h)) - (await moved(-2 * h));
      value[i] = at;
      numeric[i] = (8 * near - far) / (12 * h);
    }
    const size = Math.max(...numeric.map(Math.abs), 1e-3);
    const gap = Math.max(...numeric.map((slope, i) => Math.abs(slope - analytic.get(name)![i]!)));
    expect(size, `${name} has a gradient`).toBeGreaterThan(1e-3);
    expect(gap / size, `gradient of ${name}`).toBeLessThan(tolerance);
  }
  await step.release();
}

/** Compares the gradients that two computations of the same step left, relative to the largest element of each parameter's. */
export function expectSameGradients(actual: Parameters, expected: Parameters, tolerance: number): void {
  for (const [name, { gradient }] of expected) {
    const size = Math.max(...gradient.map(Math.abs));
    const gap = Math.max(...actual.get(name)!.gradient.map((slope, i) => Math.abs(slope - gradient[i]!)));
    expect(gap / size, name).toBeLessThan(tolerance);
  }
}

/** Σ weight ∘ output with fixed weights, so that every output element has another weight. */
function weighted(tape: Tape, output: Tensor, dims: readonly number[]): Tensor {
  const size = dims.reduce((product, dim) => product * dim, 1);
  const data = Float32Array.from({ length: size }, (_, i) => wobble(7)(i));
  return total(tape, multiply(tape, output, tape.constant(tape.graph.constant({ type: "float32", dims, data }))));
}

export const int32 = (...values: readonly number[]) => new ort.Tensor("int32", Int32Array.from(values));
export const float32 = (values: readonly number[], dims: readonly number[]) =>
  new ort.Tensor("float32", Float32Array.from(values), dims);

/** The sum of all elements, a scalar. */
export function total(tape: Tape, x: Tensor): Tensor {
  const { graph } = tape;
  const output = graph.op("ReduceSum", [x.value], { keepdims: { int: 0 } });
  const backward = (dOutput: string) => [graph.op("Expand", [dOutput, graph.op("Shape", [x.value])])];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}
