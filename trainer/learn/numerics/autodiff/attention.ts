import type { GraphBuilder } from "../onnx/graph.ts";
import { integers, MICROSOFT, rowSums, sumOver } from "./graph-shorthand.ts";
import type { Tensor } from "./recorded.ts";
import type { Tape } from "./tape.ts";

export type AttentionInputs = {
  /** (batch, head, query, headSize) */
  readonly queries: Tensor;
  /** (batch, head, key, headSize), as the values. */
  readonly keys: Tensor;
  readonly values: Tensor;
  /** (head or 1, query, key), added to the scaled products; very negative where a query may not look. */
  readonly bias: Tensor;
  /** (batch, head, query, key): 0 or 1 / (1 − rate). */
  readonly mask?: string | undefined;
  readonly headSize: number;
  /**
   * Where no query may look at a later key and there are as many of both: in so many spans of queries, each of which
   * leaves out the keys after it. Four need 5 / 8 of the work of one, and less memory at a time. No more spans than queries.
   */
  readonly causalSpans?: number;
};

/** softmax(QKᵀ/√headSize + bias) V (Vaswani et al. 2017, eq. 1), one composite operator. */
export function attention(tape: Tape, inputs: AttentionInputs): Tensor {
  const { queries, keys, values, bias, causalSpans = 1 } = inputs;
  const { graph } = tape;
  const spans = causalSpans > 1 ? spansOf(graph, queries.value, causalSpans) : [undefined];
  const parts = spans.map((span) => attentionOfSpan(graph, inputs, span));
  const joined = (pieces: readonly string[], axis: number) =>
    pieces.length === 1 ? pieces[0]! : graph.op("Concat", pieces, { axis: { int: axis } });
  const summed = (pieces: readonly string[]) => (pieces.length === 1 ? pieces[0]! : graph.op("Sum", pieces));

  const output = joined(
    parts.map((part) => part.output),
    2,
  );
  const backward = (dOutput: string) => {
    const gradients = parts.map((part) => part.backward(dOutput));
    const of = (name: keyof (typeof gradients)[number]) => gradients.map((gradient) => gradient[name]);
    return [joined(of("queries"), 2), summed(of("keys")), summed(of("values")), joined(of("bias"), 1)];
  };
  return tape.record({ output: { value: output }, inputs: [queries, keys, values, bias], backward });
}

/** Queries `from` to `to`, the latter excluded, and keys 0 to `to`: int64 [1] each. `after`: keys that are left out. */
type Span = { readonly from: string; readonly to: string; readonly after: string };

function spansOf(graph: GraphBuilder, queries: string, count: number): Span[] {
  const length = graph.op("Gather", [graph.op("Shape", [queries]), integers(graph, 2)]);
  const bounds = Array.from({ length: count + 1 }, (_, i) =>
    graph.op("Div", [graph.op("Mul", [length, integers(graph, i)]), integers(graph, count)]),
  );
  return bounds.slice(1).map((to, i) => ({ from: bounds[i]!, to, after: graph.op("Sub", [length, to]) }));
}

/**
 * Attention of a span's queries, and its share of the gradients: of its own queries, of all keys and values, and its rows of the
 * bias. The derivative needs rowsum(dP ∘ P) = rowsum(dO ∘ O), which is headSize / keys times as much work (Dao et al. 2022,
 * appendix B.2).
 */
function attentionOfSpan(graph: GraphBuilder, inputs: AttentionInputs, span: Span | undefined) {
  const { headSize } = inputs;
  const shrink = { float: 1 / Math.sqrt(headSize) };
  const product = (a: string, b: string, attributes: Parameters<typeof graph.op>[2] = {}) =>
    graph.op("FusedMatMul", [a, b], attributes, MICROSOFT);
  const cut = span && cutter(graph, span);
  const [own, known] = [cut?.queries ?? same, cut?.keys ?? same];
  const mask = inputs.mask && known(own(inputs.mask, 2), 3);
  const masked = (value: string) => (mask === undefined ? value : graph.op("Mul", [value, mask]));

  const queries = own(inputs.queries.value, 2);
  const [keys, values] = [known(inputs.keys.value, 2), known(inputs.values.value, 2)];
  const bias = known(own(inputs.bias.value, 1), 2);
  const scores = graph.op("Add", [product(queries, keys, { transB: { int: 1 }, alpha: shrink }), bias]);
  const weights = graph.op("Softmax", [scores]);
  const dropped = masked(weights);
  const output = product(dropped, values);

  const backward = (dWhole: string) => {
    const dOutput = own(dWhole, 2);
    const dWeights = masked(product(dOutput, values, { transB: { int: 1 } }));
    const along = rowSums(graph, graph.op("Mul", [dOutput, output]));
    const dScores = graph.op("Mul", [weights, graph.op("Sub", [dWeights, along])]);
    const padded = cut?.padKeys ?? same;
    return {
      queries: product(dScores, keys, { alpha: shrink }),
      keys: padded(product(dScores, queries, { transA: { int: 1 }, alpha: shrink }), 2, 4),
      values: padded(product(dropped, dOutput, { transA: { int: 1 } }), 2, 4),
      bias: padded(sumOver(graph, dScores, 0), 2, 3),
    };
  };
  return { output, backward };
}

const same = (value: string) => value;

function cutter(graph: GraphBuilder, { from, to, after }: Span) {
  const axes = (axis: number) => integers(graph, axis);
  return {
    queries: (value: string, axis: number) => graph.op("Slice", [value, from, to, axes(axis)]),
    keys: (value: string, axis: number) => graph.op("Slice", [value, axes(0), to, axes(axis)]),
    /** Zeros for the keys that were left out. */
    padKeys(value: string, axis: number, rank: number) {
      const none = (count: number) => (count === 0 ? [] : [integers(graph, ...Array<number>(count).fill(0))]);
      const pads = [...none(rank + axis), after, ...none(rank - 1 - axis)];
      return graph.op("Pad", [value, graph.op("Concat", pads, { axis: { int: 0 } })]);
    },
  };
}

/** [batch · length, heads · headSize] → (batch, head, length, headSize). `shape4` int64: batch, length, heads, headSize. */
export function splitHeads(tape: Tape, x: Tensor, { shape4, width }: { shape4: string; width: number }): Tensor {
  const { graph } = tape;
  const output = swapMiddle(tape, graph.op("Reshape", [x.value, shape4]));
  const backward = (dOutput: string) => [flat(tape, swapMiddle(tape, dOutput), width)];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

/** The way back: (batch, head, length, headSize) → [batch · length, heads · headSize = width]. */
export function joinHeads(tape: Tape, x: Tensor, { shape4, width }: { shape4: string; width: number }): Tensor {
  const { graph } = tape;
  const output = flat(tape, swapMiddle(tape, x.value), width);
  const backward = (dOutput: string) => [swapMiddle(tape, graph.op("Reshape", [dOutput, shape4]))];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

const swapMiddle = ({ graph }: Tape, value: string) => graph.op("Transpose", [value], { perm: { ints: [0, 2, 1, 3] } });
const flat = ({ graph }: Tape, value: string, width: number) =>
  graph.op("Reshape", [value, integers(graph, -1, width)]);
