import { test } from "vitest";
import { NO_DROPOUT, transformer } from "../../../../trainer/learn/neural/transformer.ts";
import { integers } from "../../../../trainer/learn/numerics/onnx/graph-shorthand.ts";
import { checkGradients } from "../numerics/autodiff/gradient-check.ts";

const width = 4;
const named = (block: string, names: readonly string[], dims: readonly number[]) =>
  Object.fromEntries(names.map((name) => [`${block}${name}`, dims]));
const wide = 3 * width;
const SQUARE = ["query", "key", "value", "output"];
const NORMS = ["before_attention", "before_feed_forward"];

test("gradients of the whole network are right for every parameter and the item vectors", () =>
  checkGradients({
    shapes: { vectors: [6, width] },
    outputShape: [6, width],
    parameters: {
      ...named("block0.", SQUARE, [width, width]),
      "block0.inner": [width, wide],
      "block0.outer": [wide, width],
      "block0.gate": [width, wide],
      ...named("block0.", ["query_bias", "value_bias", "output_bias"], [width]),
      "block0.inner_bias": [wide],
      "block0.gate_bias": [wide],
      "block0.outer_bias": [width],
      ...named(
        "block0.",
        NORMS.flatMap((name) => [`${name}.gain`, `${name}.bias`]),
        [width],
      ),
      "block0.distance_bias": [3, 2],
      "last.gain": [width],
      "last.bias": [width],
    },
    build: (tape, { vectors }) =>
      transformer(
        tape,
        { itemCount: 9, length: 3, width, blocks: 1, heads: 2 },
        { vectors: vectors!, size: integers(tape.graph, 2, 3), masks: NO_DROPOUT },
      ),
    step: 3e-3,
    tolerance: 2e-3,
  }));
