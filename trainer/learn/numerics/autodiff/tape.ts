import { assert } from "../../../../shared/assert.ts";
import type { Dimension, GraphBuilder } from "../onnx/graph.ts";
import { scalar } from "../onnx/graph-shorthand.ts";

/** A float32 value of the graph that gradients can flow into. Indices, masks and shapes are plain names of graph values. */
export type Tensor = { readonly value: string };

/** One operator of the forward computation, with its derivative. */
export type Recorded = {
  readonly output: Tensor;
  readonly inputs: readonly Tensor[];
  /** The gradient of each input, as names of graph values; undefined where no gradient flows. */
  readonly backward: (dOutput: string) => readonly (string | undefined)[];
};

/** A piece of one parameter's gradient, as names of graph values. The whole gradient is the sum of its pieces. */
export type GradientPart =
  | { readonly kind: "dense"; readonly parameter: string; readonly gradient: string }
  | { readonly kind: "rows"; readonly parameter: string; readonly indices: string; readonly rows: string };

/** Row i of `rows` is added to row indices[i] of a table's gradient. An index may occur more than once. */
type RowPart = { readonly indices: string; readonly rows: string };

/**
 * The record of a forward computation, from which the backward computation is derived (reverse-mode differentiation;
 * Griewank and Walther 2008, chapter 3). Operators are functions `(tape, …tensors) → tensor`. Each adds its forward nodes to
 * `graph` and records its derivative. The tape knows no shapes: these stay symbolic in the graph.
 */
export type Tape = {
  readonly graph: GraphBuilder;
  /** Declares a tensor that gets a gradient. */
  parameter(name: string, dims: readonly Dimension[]): Tensor;
  /** Wraps a value that gets no gradient: a graph input, or a value computed from inputs. */
  constant(value: string): Tensor;
  /** Records an operator and returns its output. */
  record(entry: Recorded): Tensor;
  /** Adds to the gradient of some rows of a parameter. Called by operators during the backward walk. */
  rowGradient(table: Tensor, part: RowPart): void;
  /** Adds the nodes that compute d loss / d parameter, for a scalar loss. Called once per tape. */
  gradients(loss: Tensor): GradientPart[];
};

/** How a parameter enters the graph: as an input for training, as a constant or external data in an exported graph. */
export type ParameterSource = (name: string, dims: readonly Dimension[]) => string;

export function newTape(
  graph: GraphBuilder,
  source: ParameterSource = (name, dims) => graph.input(name, "float32", dims),
): Tape {
  const parameters = new Map<string, Tensor>();
  const recorded: Recorded[] = [];
  const rowParts: (RowPart & { readonly parameter: string })[] = [];

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
      const parameter = [...parameters].find(([, tensor]) => tensor === table)?.[0];
      assert(parameter !== undefined, "row gradients belong to parameters");
      rowParts.push({ parameter, ...part });
    },
    gradients(loss) {
      const reached = walkBack(graph, recorded, { loss, parameters });
      const dense = [...parameters].flatMap(([parameter, tensor]): GradientPart[] => {
        const pieces = reached.get(tensor);
        return pieces ? [{ kind: "dense", parameter, gradient: sumOf(graph, pieces) }] : [];
      });
      return [...dense, ...rowParts.map((part): GradientPart => ({ kind: "rows", ...part }))];
    },
  };
}

/** The pieces of the gradient of each tensor that leads to the loss, found from the last operator to the first. */
function walkBack(
  graph: GraphBuilder,
  recorded: readonly Recorded[],
  { loss, parameters }: { readonly loss: Tensor; readonly parameters: ReadonlyMap<string, Tensor> },
): ReadonlyMap<Tensor, readonly string[]> {
  const wanted = needingGradient(parameters, recorded);
  const reached = new Map<Tensor, string[]>([[loss, [scalar(graph, 1)]]]);
  for (const { output, inputs, backward } of [...recorded].reverse()) {
    const pieces = reached.get(output);
    if (!pieces) continue; // this operator does not lead to the loss
    const gradients = backward(sumOf(graph, pieces));
    for (const [i, input] of inputs.entries()) {
      const gradient = gradients[i];
      if (gradient === undefined || !wanted.has(input)) continue;
      reached.set(input, [...(reached.get(input) ?? []), gradient]);
    }
  }
  return reached;
}

const sumOf = (graph: GraphBuilder, pieces: readonly string[]) =>
  pieces.length === 1 ? pieces[0]! : graph.op("Sum", pieces);

/** The tensors through which a gradient reaches a parameter. ONNX Runtime drops backward nodes that nothing reads. */
function needingGradient(parameters: ReadonlyMap<string, Tensor>, recorded: readonly Recorded[]): Set<Tensor> {
  const wanted = new Set(parameters.values());
  for (const { output, inputs } of recorded) if (inputs.some((input) => wanted.has(input))) wanted.add(output);
  return wanted;
}
