import { test } from "vitest";
import { attention, joinHeads, splitHeads, transpose } from "../../../trainer/autodiff/attention.ts";
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

test("gradient of an order of axes that is not its own inverse", () =>
  checkGradients({
    shapes: { x: [2, 3, 4] },
    outputShape: [4, 2, 3],
    build: (tape, { x }) => transpose(tape, x!, [2, 0, 1]),
  }));
