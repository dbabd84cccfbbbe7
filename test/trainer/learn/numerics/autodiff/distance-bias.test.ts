import { test } from "vitest";
import { distanceBias } from "../../../../../trainer/learn/numerics/autodiff/distance-bias.ts";
import { multiply } from "../../../../../trainer/learn/numerics/autodiff/pointwise.ts";
import type { Tensor } from "../../../../../trainer/learn/numerics/autodiff/recorded.ts";
import type { Tape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { checkGradients } from "./gradient-check.ts";

/** For sequences of n; the future is shut out as by a weight of 0, since a difference of numbers near a milliard says nothing. */
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

test.each([1, 2, 5, 6])("gradients by distance for two heads and sequences of %d of at most 6", (n) =>
  checkGradients({
    shapes: { table: [6, 2] },
    outputShape: [2, n, n],
    build: (tape, { table }) => biasOf(tape, table!, n),
  }),
);
