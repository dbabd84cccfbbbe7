import type { GraphBuilder } from "../onnx/graph.ts";
import { cast, integers, MICROSOFT, rowSums, sumOver } from "../onnx/graph-shorthand.ts";
import type { Tape, Tensor } from "./tape.ts";

export type AttentionInputs = {
  /** (batch, head, query, headSize) */
  readonly queries: Tensor;
  /** (batch, head, key, headSize), as the values. */
  readonly keys: Tensor;
  readonly values: Tensor;
  /** (head or 1, query, key), added to the scaled products; very negative where a query must not see a key. */
  readonly bias: Tensor;
  readonly headSize: number;
  /**
   * For causal attention with as many keys as queries: the number of spans that the queries are split into. Each span
   * leaves out the keys after it, so that four spans need 5 / 8 of the work of one, and less memory. At most one per query.
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

/** Queries `from` … `to` − 1 and keys 0 … `to` − 1; `after`: the number of keys that are left out. int64 [1] each. */
type Span = { readonly from: string; readonly to: string; readonly after: string };

function spansOf(graph: GraphBuilder, queries: string, count: number): Span[] {
  const length = graph.op("Gather", [graph.op("Shape", [queries]), integers(graph, 2)]);
  const bounds = Array.from({ length: count + 1 }, (_, i) =>
    graph.op("Div", [graph.op("Mul", [length, integers(graph, i)]), integers(graph, count)]),
  );
  return bounds.slice(1).map((to, i) => ({ from: bounds[i]!, to, after: graph.op("Sub", [length, to]) }));
}

/**
 * Attention of one span's queries, and its part of the gradients: of its queries, of all keys and values, and of its rows of
 * the bias. The derivative needs rowsum(dP ∘ P); rowsum(dO ∘ O) is the same and headSize / keys times the work (Dao et al.
 * 2022, appendix B.2).
 */
function attentionOfSpan(graph: GraphBuilder, inputs: AttentionInputs, span: Span | undefined) {
  const shrink = { float: 1 / Math.sqrt(inputs.headSize) };
  const product = (a: string, b: string, attributes: Parameters<typeof graph.op>[2] = {}) =>
    graph.op("FusedMatMul", [a, b], attributes, MICROSOFT);
  const { cutQueries, cutKeys, padKeys } = span ? cutter(graph, span) : WHOLE;

  const queries = cutQueries(inputs.queries.value, 2);
  const [keys, values] = [cutKeys(inputs.keys.value, 2), cutKeys(inputs.values.value, 2)];
  const bias = cutKeys(cutQueries(inputs.bias.value, 1), 2);
  const scores = graph.op("Add", [product(queries, keys, { transB: { int: 1 }, alpha: shrink }), bias]);
  const weights = graph.op("Softmax", [scores]);
  const output = product(weights, values);

  const backward = (dWhole: string) => {
    const dOutput = cutQueries(dWhole, 2);
    const dWeights = product(dOutput, values, { transB: { int: 1 } });
    const along = rowSums(graph, graph.op("Mul", [dOutput, output]));
    const dScores = graph.op("Mul", [weights, graph.op("Sub", [dWeights, along])]);
    return {
      queries: product(dScores, keys, { alpha: shrink }),
      keys: padKeys(product(dScores, queries, { transA: { int: 1 }, alpha: shrink }), 2, 4),
      values: padKeys(product(weights, dOutput, { transA: { int: 1 } }), 2, 4),
      bias: padKeys(sumOver(graph, dScores, 0), 2, 3),
    };
  };
  return { output, backward };
}

const unchanged = (value: string) => value;

/** Takes a span's part of a value along an axis. */
type Cutter = {
  readonly cutQueries: (value: string, axis: number) => string;
  readonly cutKeys: (value: string, axis: number) => string;
  /** Appends zeros for the keys that were left out, to a value of `rank` axes. */
  readonly padKeys: (value: string, axis: number, rank: number) => string;
};

const WHOLE: Cutter = { cutQueries: unchanged, cutKeys: unchanged, padKeys: unchanged };

function cutter(graph: GraphBuilder, { from, to, after }: Span): Cutter {
  const axes = (axis: number) => integers(graph, axis);
  return {
    cutQueries: (value, axis) => graph.op("Slice", [value, from, to, axes(axis)]),
    cutKeys: (value, axis) => graph.op("Slice", [value, axes(0), to, axes(axis)]),
    padKeys(value, axis, rank) {
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

/** The inverse of splitHeads: (batch, head, length, headSize) → [batch · length, heads · headSize = width]. */
export function joinHeads(tape: Tape, x: Tensor, { shape4, width }: { shape4: string; width: number }): Tensor {
  const { graph } = tape;
  const output = flat(tape, swapMiddle(tape, x.value), width);
  const backward = (dOutput: string) => [swapMiddle(tape, graph.op("Reshape", [dOutput, shape4]))];
  return tape.record({ output: { value: output }, inputs: [x], backward });
}

const swapMiddle = ({ graph }: Tape, value: string) => graph.op("Transpose", [value], { perm: { ints: [0, 2, 1, 3] } });
const flat = ({ graph }: Tape, value: string, width: number) =>
  graph.op("Reshape", [value, integers(graph, -1, width)]);

export type DistanceLayout = {
  /** int64 [length]: 0 … length − 1. */
  readonly places: string;
  /** int32 (length, length): how far a key lies behind the query, 0 for later keys. */
  readonly distances: string;
  /** float32 (length, length): 0, or for later keys so negative that no attention is left. */
  readonly future: string;
};

/**
 * (heads, query, key): table[distance, head] for a key that lies `distance` behind the query, with later keys shut out (the
 * relative biases of T5, Raffel et al. 2020, without buckets). `table` is a parameter, [distances, heads].
 *
 * The derivative adds up each diagonal: in rows of length + 1, the entries of a diagonal stand below one another.
 */
export function distanceBias(tape: Tape, table: Tensor, { places, distances, future }: DistanceLayout): Tensor {
  const { graph } = tape;
  const byDistance = graph.op("Transpose", [graph.op("Gather", [table.value, distances])], {
    perm: { ints: [2, 0, 1] },
  });
  const output = graph.op("Add", [byDistance, future]);
  const backward = (dOutput: string) => {
    const rows = diagonalSums(graph, dOutput, places);
    tape.rowGradient(table, { indices: cast(graph, places, "int32"), rows });
    return [undefined];
  };
  return tape.record({ output: { value: output }, inputs: [table], backward });
}

/** (heads, n, n) with zeros above the diagonal → [n, heads]: sums by distance from the diagonal. */
function diagonalSums(graph: GraphBuilder, squares: string, places: string): string {
  const length = graph.op("Shape", [places]);
  const next = graph.op("Add", [length, integers(graph, 1)]);
  const rows = graph.op("Reshape", [squares, integers(graph, 0, -1)]);
  const padded = graph.op("Pad", [rows, graph.op("Concat", [integers(graph, 0, 0, 0), length], { axis: { int: 0 } })]);
  const skewShape = graph.op("Concat", [integers(graph, 0), length, next], { axis: { int: 0 } });
  const sums = sumOver(graph, graph.op("Reshape", [padded, skewShape]), 1); // [heads, n + 1], distance d in column −d mod n + 1
  const columns = graph.op("Mod", [graph.op("Sub", [next, places]), next]);
  return graph.op("Gather", [graph.op("Transpose", [sums], { perm: { ints: [1, 0] } }), columns]);
}
