import { attention, type DistanceLayout, distanceBias, joinHeads, splitHeads } from "../numerics/autodiff/attention.ts";
import { add, dropout, layerNorm, linear, multiply, relu, scale } from "../numerics/autodiff/operators.ts";
import type { Tape, Tensor } from "../numerics/autodiff/tape.ts";
import { cast, integer, integers } from "../numerics/onnx/graph-shorthand.ts";

/** Sizes of the network; `width` is a multiple of `heads`. */
export type TransformerShape = {
  readonly itemCount: number;
  /** Largest number of history entries. */
  readonly length: number;
  readonly width: number;
  readonly blocks: number;
  readonly heads: number;
};

/** Declares a dropout mask for [batch · length, width] activations and returns its name; undefined: no dropout. */
export type DropoutMasks = () => string | undefined;
export const NO_DROPOUT: DropoutMasks = () => undefined;

/**
 * The causal transformer of SASRec (Kang and McAuley 2018), with a layer norm before each part, with attention biases
 * that are learnt by distance instead of position vectors, and with a wider, gated feed-forward part.
 *
 * @returns What the network expects after each position. [batch · length, width]
 */
export function transformer(
  tape: Tape,
  shape: TransformerShape,
  inputs: {
    /** [batch · length, width]: item vectors, oldest first. Rows are padded at the end, where causal attention ignores it. */
    readonly vectors: Tensor;
    /** int64 [2]: batch, length. */
    readonly size: string;
    readonly masks: DropoutMasks;
  },
): Tensor {
  const { width, blocks } = shape;
  const { masks } = inputs;
  const layout = headLayout(tape, shape, inputs.size);
  let x = dropout(tape, scale(tape, inputs.vectors, Math.sqrt(width)), masks());
  for (let block = 0; block < blocks; block++) {
    const named = (name: string) => `block${block}.${name}`;
    const attended = attend(tape, norm(tape, x, named("before_attention"), width), {
      shape,
      layout,
      named,
    });
    x = add(tape, x, dropout(tape, attended, masks()));
    const fed = feedForward(tape, norm(tape, x, named("before_feed_forward"), width), named, width);
    x = add(tape, x, dropout(tape, fed, masks()));
  }
  return norm(tape, x, "last", width);
}

type Layout = DistanceLayout & {
  /** int64 [4]: batch, length, heads, headSize. */
  readonly shape4: string;
};
type AttentionContext = {
  readonly shape: TransformerShape;
  readonly layout: Layout;
  readonly named: (name: string) => string;
};

function attend(tape: Tape, x: Tensor, { shape, layout, named }: AttentionContext): Tensor {
  const { width, heads, length } = shape;
  const { shape4 } = layout;
  const split = (projected: Tensor) => splitHeads(tape, projected, { shape4, width });
  const project = (name: string) => split(linear(tape, x, layer(tape, named(name), width)));
  // Keys have no bias: it would add the same number to every score of a query, which does not change the softmax.
  const keys = split(linear(tape, x, { weight: tape.parameter(named("key"), [width, width]) }));
  const table = tape.parameter(named("distance_bias"), [length, heads]);
  const output = attention(tape, {
    queries: project("query"),
    keys,
    values: project("value"),
    bias: distanceBias(tape, table, layout),
    headSize: width / heads,
  });
  return linear(tape, joinHeads(tape, output, { shape4, width }), layer(tape, named("output"), width));
}

/** Inner numbers of the feed-forward part for each number of the width. SASRec has one, and no gate. */
const EXPANSION = 3;
/** A block's weights, counted in matrices of width × width. */
export const MATRICES_PER_BLOCK = 4 + 3 * EXPANSION;

/** ReGLU (Shazeer 2020): (relu(x W) ∘ x G) O, with biases. */
function feedForward(tape: Tape, x: Tensor, named: (name: string) => string, width: number): Tensor {
  const wide = EXPANSION * width;
  const inner = relu(tape, linear(tape, x, layer(tape, named("inner"), width, wide)));
  const gate = linear(tape, x, layer(tape, named("gate"), width, wide));
  return linear(tape, multiply(tape, inner, gate), layer(tape, named("outer"), wide, width));
}

const layer = (tape: Tape, name: string, inputs: number, outputs = inputs) => ({
  weight: tape.parameter(name, [inputs, outputs]),
  bias: tape.parameter(`${name}_bias`, [outputs]),
});

const norm = (tape: Tape, x: Tensor, name: string, width: number) =>
  layerNorm(tape, x, {
    gain: tape.parameter(`${name}.gain`, [width]),
    bias: tape.parameter(`${name}.bias`, [width]),
  });

/** Shapes and masks that depend on the batch's size alone. */
function headLayout({ graph }: Tape, { heads, width }: TransformerShape, size: string): Layout {
  const shape4 = graph.op("Concat", [size, integers(graph, heads, width / heads)], { axis: { int: 0 } });
  const zero = integer(graph, 0);
  const places = graph.op("Range", [zero, graph.op("Gather", [size, integer(graph, 1)]), integer(graph, 1)]);
  const asColumn = graph.op("Unsqueeze", [places, integers(graph, 1)]);
  const behind = graph.op("Sub", [asColumn, graph.op("Unsqueeze", [places, integers(graph, 0)])]);
  const distances = cast(graph, graph.op("Max", [behind, zero]), "int32");
  const isFuture = cast(graph, graph.op("Less", [behind, zero]), "float32");
  const never = graph.constant({ type: "float32", dims: [], data: Float32Array.of(-1e9) });
  return { shape4, places, distances, future: graph.op("Mul", [isFuture, never]) };
}
