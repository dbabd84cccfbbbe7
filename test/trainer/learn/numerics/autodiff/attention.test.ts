import { test } from "vitest";
import {
  attention,
  distanceBias,
  joinHeads,
  splitHeads,
} from "../../../../../trainer/learn/numerics/autodiff/attention.ts";
import { multiply } from "../../../../../trainer/learn/numerics/autodiff/operators.ts";
import type { Tape, Tensor } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { checkGradients } from "./gradient-check.ts";

const shapes = { q: [2, 2, 3, 4], k: [2, 2, 3, 4], v: [2, 2, 3, 4], bias: [2, 3, 3] };

test("gradients of attention, with a learnt bias", () =>
  checkGradients({
    shapes,
    outputShape: [2, 2, 3, 4],
    build: (tape, { q, k, v, bias }) =>
      attention(tape, { queries: q!, keys: k!, values: v!, bias: bias!, headSize: 4 }),
  }));

test("gradients of splitting into heads and joining them", () =>
  checkGradients({
    shapes: { x: [6, 4] },
    outputShape: [6, 4],
    build: (tape, { x }) => {
      const shape = BigInt64Array.of(2n, 3n, 2n, 2n);
      const shape4 = tape.graph.constant({ type: "int64", dims: [4], data: shape });
      const heads = splitHeads(tape, x!, { shape4, width: 4 });
      const bias = tape.constant(tape.graph.constant({ type: "float32", dims: [1], data: Float32Array.of(0) }));
      const mixed = attention(tape, { queries: heads, keys: heads, values: heads, bias, headSize: 2 });
      return joinHeads(tape, mixed, { shape4, width: 4 });
    },
  }));

/** Biases for sequences of n. Later keys are removed by a weight of 0, because differences of numbers near 1e9 are inexact. */
function biasOf(tape: Tape, table: Tensor, n: number): Tensor {
  const { graph } = tape;
  const cells = Array.from({ length: n * n }, (_, i) => Math.floor(i / n) - (i % n));
  const distances = Int32Array.from(cells, (behind) => Math.max(0, behind));
  const past = Float32Array.from(cells, (behind) => Number(behind >= 0));
  const bias = distanceBias(tape, table, {
    places: graph.constant({ type: "int64", dims: [n], data: BigInt64Array.from({ length: n }, (_, i) => BigInt(i)) }),
    distances: graph.constant({ type: "int32", dims: [n, n], data: distances }),
    future: graph.constant({ type: "float32", dims: [n, n], data: new Float32Array(n * n) }),
  });
  const asWeights = Float32Array.from({ length: 2 * n * n }, (_, i) => past[i % (n * n)]!);
  return multiply(tape, bias, tape.constant(graph.constant({ type: "float32", dims: [2, n, n], data: asWeights })));
}

test.each([1, 2, 5, 6])("gradients of the distance bias for two heads and sequences of %d, at most 6", (n) =>
  checkGradients({
    shapes: { table: [6, 2] },
    outputShape: [2, n, n],
    build: (tape, { table }) => biasOf(tape, table!, n),
  }),
);
