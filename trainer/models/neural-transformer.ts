import { attention, joinHeads, splitHeads, transpose } from "../autodiff/attention.ts";
import { linear } from "../autodiff/linear.ts";
import { layerNorm } from "../autodiff/normalise.ts";
import { add, dropout, relu, scale } from "../autodiff/pointwise.ts";
import { gatherRows } from "../autodiff/rows.ts";
import type { Tape, Tensor } from "../autodiff/tape.ts";

/** Sizes of the network. `width` is a multiple of `heads`. */
export type TransformerShape = {
  readonly itemCount: number;
  /** History entries at most. */
  readonly length: number;
  readonly width: number;
  readonly blocks: number;
  readonly heads: number;
};

export type DropoutMasks = {
  /** A mask for (batch · length, width) activations, or undefined when serving. */
  readonly activation: () => string | undefined;
  /** A mask for (batch, head, length, length) attention weights. */
  readonly attention: () => string | undefined;
};
export const NO_DROPOUT: DropoutMasks = { activation: () => undefined, attention: () => undefined };

export type TransformerOutput = {
  /** [batch · length, width]: what each position expects next. */
  readonly hidden: Tensor;
  /** [itemCount, width] */
  readonly items: Tensor;
};

/**
 * The causal transformer of SASRec (Kang and McAuley 2018) with layer norms before each part, learnt biases by distance
 * between positions, and one item table for what goes in and what is predicted.
 *
 * @param items int32 (batch, length), oldest first, padded at the end: causality keeps padding out of what counts.
 */
export function transformer(
  tape: Tape,
  shape: TransformerShape,
  inputs: { readonly items: string; readonly masks: DropoutMasks },
): TransformerOutput {
  const { itemCount, width, blocks } = shape;
  const { graph } = tape;
  const { masks } = inputs;
  const items = tape.parameter("items", [itemCount, width]);
  const flatItems = graph.op("Reshape", [inputs.items, graph.constant(int64(-1))]);
  const layout = headLayout(tape, shape, inputs.items);
  const embedded = scale(tape, gatherRows(tape, items, flatItems), Math.sqrt(width));
  let x = dropout(tape, embedded, masks.activation());
  for (let block = 0; block < blocks; block++) {
    const named = (name: string) => `block${block}.${name}`;
    const attended = attend(tape, norm(tape, x, named("before_attention"), width), { shape, layout, named, masks });
    x = add(tape, x, dropout(tape, attended, masks.activation()));
    const fed = feedForward(tape, norm(tape, x, named("before_feed_forward"), width), { width, named, masks });
    x = add(tape, x, dropout(tape, fed, masks.activation()));
  }
  return { hidden: norm(tape, x, "last", width), items };
}

type Layout = {
  /** int64 [4]: batch, length, heads, headSize. */
  readonly shape4: string;
  /** int32 (length, length): how far back a key lies, 0 for the future. */
  readonly distances: string;
  /** float32 (length, length): 0, or very negative for the future. */
  readonly future: string;
};
type BlockContext = { readonly named: (name: string) => string; readonly masks: DropoutMasks };

function attend(
  tape: Tape,
  x: Tensor,
  { shape, layout, named, masks }: BlockContext & { readonly shape: TransformerShape; readonly layout: Layout },
): Tensor {
  const { width, heads, length } = shape;
  const { shape4 } = layout;
  const project = (name: string) => {
    const weight = tape.parameter(named(name), [width, width]);
    const bias = tape.parameter(named(`${name}_bias`), [width]);
    return (from: Tensor) => linear(tape, from, { weight, bias });
  };
  const split = (name: string) => splitHeads(tape, project(name)(x), { shape4, width });
  const table = tape.parameter(named("distance_bias"), [length, heads]);
  const byDistance = transpose(tape, gatherRows(tape, table, layout.distances), [2, 0, 1]);
  const output = attention(tape, {
    queries: split("query"),
    keys: split("key"),
    values: split("value"),
    bias: add(tape, byDistance, tape.constant(layout.future)),
    mask: masks.attention(),
    headSize: width / heads,
  });
  return project("output")(joinHeads(tape, output, { shape4, width }));
}

function feedForward(tape: Tape, x: Tensor, { width, named, masks }: BlockContext & { readonly width: number }) {
  const layer = (name: string) => ({
    weight: tape.parameter(named(name), [width, width]),
    bias: tape.parameter(named(`${name}_bias`), [width]),
  });
  const inner = relu(tape, linear(tape, x, layer("inner")));
  return linear(tape, dropout(tape, inner, masks.activation()), layer("outer"));
}

const norm = (tape: Tape, x: Tensor, name: string, width: number) =>
  layerNorm(tape, x, {
    gain: tape.parameter(`${name}.gain`, [width]),
    bias: tape.parameter(`${name}.bias`, [width]),
  });

/** What depends on the batch's shape alone, computed once per run. */
function headLayout({ graph }: Tape, { heads, width }: TransformerShape, items: string): Layout {
  const itemsShape = graph.op("Shape", [items]);
  const shape4 = graph.op("Concat", [itemsShape, graph.constant(int64(heads, width / heads))], { axis: { int: 0 } });
  const [zero, one] = [0, 1].map((n) => graph.constant({ type: "int64", dims: [], data: BigInt64Array.of(BigInt(n)) }));
  const length = graph.op("Gather", [itemsShape, one!]);
  const places = graph.op("Range", [zero!, length, one!]);
  const rows = graph.op("Unsqueeze", [places, graph.constant(int64(1))]);
  const behind = graph.op("Sub", [rows, graph.op("Unsqueeze", [places, graph.constant(int64(0))])]);
  const distances = graph.op("Cast", [graph.op("Max", [behind, zero!])], { to: { int: 6 } });
  const isFuture = graph.op("Cast", [graph.op("Less", [behind, zero!])], { to: { int: 1 } });
  const never = graph.constant({ type: "float32", dims: [], data: Float32Array.of(-1e9) });
  return { shape4, distances, future: graph.op("Mul", [isFuture, never]) };
}

const int64 = (...values: readonly number[]) => ({
  type: "int64" as const,
  dims: [values.length],
  data: BigInt64Array.from(values, BigInt),
});
