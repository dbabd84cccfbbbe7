import { assert } from "../../../../shared/assert.ts";
import type { Dimension, GraphBuilder } from "../onnx/graph.ts";
import { type GradientPart, gradientGraph } from "./backward.ts";
import type { Recorded, Tensor } from "./recorded.ts";

/**
 * The record of a forward computation, from which the backward one is derived (reverse-mode differentiation; Griewank
 * and Walther 2008, chapter 3). Operators are functions `(tape, …tensors) → tensor` that add their forward nodes to
 * `graph` at once and record their derivative. The tape knows nothing of shapes: those stay symbolic in the graph.
 */
export type Tape = {
  readonly graph: GraphBuilder;
  /** A tensor whose gradient is wanted. How it enters the graph (input or constant) is the maker's choice. */
  parameter(name: string, dims: readonly Dimension[]): Tensor;
  /** A value without gradient: a graph input, or anything computed from such. */
  constant(value: string): Tensor;
  record(entry: Recorded): Tensor;
  /** Tells that rows `indices` of a parameter receive `rows`, added up where an index occurs more than once. */
  rowGradient(table: Tensor, part: { readonly indices: string; readonly rows: string }): void;
  /** Adds the backward nodes of `loss`, a scalar. Once per tape. */
  gradients(loss: Tensor): GradientPart[];
};

/** Where parameters come from: graph inputs while training, constants or external data in an exported graph. */
export type ParameterSource = (name: string, dims: readonly Dimension[]) => string;

export function newTape(
  graph: GraphBuilder,
  source: ParameterSource = (name, dims) => graph.input(name, "float32", dims),
): Tape {
  const parameters = new Map<string, Tensor>();
  const recorded: Recorded[] = [];
  const rowParts: { table: Tensor; indices: string; rows: string }[] = [];
  const nameOf = (tensor: Tensor) => [...parameters].find(([, known]) => known === tensor)?.[0];

  return {
    graph,
    parameter(name, dims) {
      assert(!parameters.has(name), `parameter ${name} is declared once`);
      const tensor = { value: source(name, dims) };
      parameters.set(name, tensor);
      return tensor;
    },
    constant: (value) => ({ value }),
    record(entry) {
      recorded.push(entry);
      return entry.output;
    },
    rowGradient(table, part) {
      assert(nameOf(table) !== undefined, "row gradients belong to parameters");
      rowParts.push({ table, ...part });
    },
    gradients: (loss) => gradientGraph({ graph, parameters, recorded, rowParts, loss }),
  };
}
