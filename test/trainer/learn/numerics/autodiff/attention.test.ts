import { test } from "vitest";
import { attention, joinHeads, splitHeads } from "../../../../../trainer/learn/numerics/autodiff/attention.ts";
import { add } from "../../../../../trainer/learn/numerics/autodiff/pointwise.ts";
import type { Tensor } from "../../../../../trainer/learn/numerics/autodiff/recorded.ts";
import type { Tape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { checkGradients, float32 } from "./gradient-check.ts";

const shapes = { q: [2, 2, 3, 4], k: [2, 2, 3, 4], v: [2, 2, 3, 4], bias: [2, 3, 3] };

test("gradients of attention, with a learnt bias", () =>
  checkGradients({
    shapes,
    outputShape: [2, 2, 3, 4],
    build: (tape, { q, k, v, bias }) =>
      attention(tape, { queries: q!, keys: k!, values: v!, bias: bias!, headSize: 4 }),
  }));

test("gradients of attention under a dropout mask", () =>
  checkGradients({
    shapes,
    inputs: {
      mask: float32(
        Array.from({ length: 36 }, (_, i) => (i % 3 === 1 ? 0 : 1.5)),
        [2, 2, 3, 3],
      ),
    },
    outputShape: [2, 2, 3, 4],
    build: (tape, { q, k, v, bias }) =>
      attention(tape, { queries: q!, keys: k!, values: v!, bias: bias!, headSize: 4, mask: "mask" }),
  }));

const FUTURE = [
  0, -1e9, -1e9, -1e9, -1e9, 0, 0, -1e9, -1e9, -1e9, 0, 0, 0, -1e9, -1e9, 0, 0, 0, 0, -1e9, 0, 0, 0, 0, 0,
];
const causal = { q: [2, 2, 5, 2], k: [2, 2, 5, 2], v: [2, 2, 5, 2], bias: [2, 5, 5] };
const inSpans =
  (causalSpans: number) =>
  (tape: Tape, { q, k, v, bias }: Readonly<Record<string, Tensor>>) => {
    const future = tape.graph.constant({ type: "float32", dims: [5, 5], data: Float32Array.from(FUTURE) });
    const masked = add(tape, bias!, tape.constant(future));
    return attention(tape, { queries: q!, keys: k!, values: v!, bias: masked, headSize: 2, mask: "mask", causalSpans });
  };
const mask = float32(
  Array.from({ length: 100 }, (_, i) => (i % 3 === 1 ? 0 : 1.5)),
  [2, 2, 5, 5],
);

test.each([2, 3, 5])("gradients of causal attention of five queries in %d spans", (causalSpans) =>
  checkGradients({ shapes: causal, inputs: { mask }, outputShape: [2, 2, 5, 2], build: inSpans(causalSpans) }),
);

test("gradients through splitting into heads and joining them again", () =>
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
