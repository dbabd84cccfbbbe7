/**
 * A scoring graph for many histories in one run. Published graphs take one history, since a rank call has one. Here the nodes of a history
 * are there once for each of `count` histories, and share their weights. What costs the most, the product of a vector with all items, is
 * done for all histories as one product of matrices, which reads the weights once.
 *
 * Sums of the byte codes of items are exact in float32, as they are in the published graph, so these scores are the same. In products of
 * float32 weights the order of additions differs.
 */
import {
  type Attribute,
  attributeField,
  externalField,
  initializerField,
  modelBytes,
  type ValueInfo,
} from "../numerics/onnx/graph.ts";
import { float32, int64 } from "../numerics/onnx/graph-shorthand.ts";
import { DATA_TYPES, text } from "../numerics/onnx/proto.ts";
import { type ReadGraph, type ReadNode, readGraph } from "../numerics/onnx/read-graph.ts";

/** The input or output with this name of history `i`. */
export const ofHistory = (name: string, i: number): string => `${name}#${i}`;

/** The output of a batch graph: float32 [count, itemCount]. */
export const BATCH_SCORES = "batch_scores";

export type BatchGraph = {
  readonly graph: Uint8Array;
  readonly inputs: readonly string[];
  /** Whether the histories share a product. Without one, a batch is no faster than its histories one by one. */
  readonly sharesProduct: boolean;
};

/** Opening a graph takes time that grows faster than its nodes: 1 s with these. */
const NODES_MAX = 1500;

/** The number of histories of a run, at most `max` and at least 1, if each has this many nodes. */
export const historiesOfRun = (nodeCount: number, max: number): number =>
  Math.max(1, Math.min(max, Math.floor(NODES_MAX / nodeCount)));

/** The number of nodes of a published graph. */
export const nodeCountOf = (published: Uint8Array): number => readGraph(published).nodes.length;

/** Inputs are those of the graph for each history, such as `items#0`; the output is BATCH_SCORES. */
export function batchGraph(published: Uint8Array, itemCount: number, count: number): BatchGraph {
  const graph = readGraph(published);
  const writer = batchWriter(count);
  const { each, op, add, constant } = writer;
  const dims = new Map(graph.initializers.map((tensor) => [tensor.name, tensor.dims]));
  /** Values that are the same for all histories. */
  const shared = new Set(["", ...dims.keys()]);
  /** Values with a row for each history: [count, n] for what is [n] or [1, n] for one. */
  const together = new Map<string, string>();
  const named = (name: string, i: number) => (shared.has(name) ? name : ofHistory(name, i));
  const rowsOf = (rows: readonly string[]) => op("Concat", rows, { axis: { int: 0 } });

  const share = (node: ReadNode) => {
    for (const name of node.outputs) shared.add(name);
    const [first] = node.inputs as [string];
    if (ELEMENTWISE.has(node.type) && dims.has(first)) dims.set(node.outputs[0]!, dims.get(first)!);
    add(node);
  };
  /** The product of all rows with columns of float32; undefined for any other node. */
  const product = ({ type, inputs: [left, right] }: ReadNode) =>
    type === "MatMul" && shared.has(right!) && dims.get(right!)?.[1] === itemCount
      ? op("MatMul", [rowsOf(each.map((i) => named(left!, i))), right!])
      : undefined;
  /** The product of all rows with columns of byte codes, by their exact sums in float32; undefined for any other node. */
  const productOfBytes = ({ type, inputs }: ReadNode) => {
    const [left, right, unit, itemUnit, zero, itemZero] = inputs as [string, string, string, string, string, string];
    const size = dims.get(right); // [blocks, width, items of a block]
    if (type !== "MatMulIntegerToFloat" || size?.length !== 3) return undefined;
    const float = (name: string) => op("Cast", [name], { to: { int: DATA_TYPES.float32 } });
    const turned = op("Transpose", [op("Sub", [float(right), float(itemZero)])], { perm: { ints: [1, 0, 2] } });
    const padded = op("Reshape", [turned, constant([size[1]!, -1])]);
    const columns = op("Slice", [padded, constant([0]), constant([itemCount]), constant([1])]); // once, when the graph is opened
    const rows = each.map((i) => op("Sub", [float(named(left, i)), float(named(zero, i))]));
    const units = each.map((i) => op("Reshape", [op("Mul", [named(unit, i), itemUnit]), constant([1, 1])]));
    return op("Mul", [op("MatMul", [rowsOf(rows), columns]), rowsOf(units)]);
  };
  /** What a node makes of all rows; undefined if it cannot be done for all at once. */
  const ofRows = ({ type, inputs }: ReadNode) => {
    const [left, right] = inputs as [string, string];
    const inputCount = inputs.length;
    const rows = together.get(left!);
    if (rows === undefined) return undefined;
    const isFlat = type === "Identity" || (type === "Reshape" && dims.get(right!)?.join() === "1");
    const isCut = type === "Slice" && inputCount === 3; // the published graph cuts off the padding after the product
    if (isFlat || isCut) return rows;
    return type === "Mul" && dims.get(right!)?.join() === String(itemCount) ? op("Mul", [rows, right!]) : undefined;
  };
  /** Makes values of each history from the rows, for nodes that are done for each. */
  const separate = (name: string) => {
    const all = together.get(name);
    if (all === undefined) return;
    together.delete(name);
    const parts = each.map((i) => `${ofHistory(name, i)}_row`);
    add(opNode("Split", [all], parts, { axis: { int: 0 }, num_outputs: { int: count } }));
    for (const i of each) add(opNode("Reshape", [parts[i]!, constant([-1])], [ofHistory(name, i)], {}));
  };
  const repeat = (node: ReadNode) => {
    for (const name of node.inputs) separate(name);
    for (const i of each) {
      const inputs = node.inputs.map((name) => named(name, i));
      add({ ...node, inputs, outputs: node.outputs.map((name) => (name === "" ? "" : ofHistory(name, i))) });
    }
  };

  let sharesProduct = false;
  for (const node of graph.nodes) {
    const isShared = node.inputs.every((name) => shared.has(name));
    const rows = isShared ? undefined : (product(node) ?? productOfBytes(node) ?? ofRows(node));
    sharesProduct ||= rows !== undefined;
    if (rows !== undefined) together.set(node.outputs[0]!, rows);
    else if (isShared) share(node);
    else repeat(node);
  }
  const oneRow = (i: number) => op("Reshape", [named("scores", i), constant([1, itemCount])]);
  writer.rename(together.get("scores") ?? rowsOf(each.map(oneRow)), BATCH_SCORES);
  const outputs = [{ name: BATCH_SCORES, type: "float32" as const, dims: [count, itemCount] }];
  const inputs = graph.inputs.flatMap((name) =>
    each.map((i) => ({ name: ofHistory(name, i), type: typeOfInput(name), dims: [`L${i}`] })),
  );
  return { inputs: graph.inputs, sharesProduct, graph: writer.build(graph, inputs, outputs) };
}

export type BatchWriter = ReturnType<typeof batchWriter>;

/** Collects the nodes of a graph for many histories. */
export function batchWriter(count: number) {
  const nodes: ReadNode[] = [];
  const constants = new Map<string, Uint8Array>();
  const each = Array.from({ length: count }, (_, i) => i);
  const add = (node: ReadNode) => void nodes.push(node);
  return {
    each,
    add,
    op(type: string, inputs: readonly string[], attributes: Readonly<Record<string, Attribute>> = {}) {
      const output = `batch_${type}_${nodes.length}`;
      add(opNode(type, inputs, [output], attributes));
      return output;
    },
    constant(values: readonly number[]) {
      const name = `batch_constant_${values.join("_")}`;
      constants.set(name, initializerField(name, int64([values.length], ...values)));
      return name;
    },
    /** A float32 scalar. */
    number(value: number) {
      const name = `batch_number_${value}`;
      constants.set(name, initializerField(name, float32([], value)));
      return name;
    },
    /** Makes this value an output, if no other node needs it. A node that copies it would take a tenth of the time of a run. */
    rename(value: string, output: string): void {
      const at = nodes.findLastIndex(({ outputs }) => outputs[0] === value);
      nodes[at] = { ...nodes[at]!, outputs: [output] };
    },
    /** A value whose numbers are in a file beside the graph. */
    external(path: string, dims: readonly number[]) {
      constants.set(path, externalField(path, path, "float32", dims));
      return path;
    },
    build: ({ initializers, domains }: ReadGraph, inputs: readonly ValueInfo[], outputs: readonly ValueInfo[]) =>
      modelBytes({
        name: "batch",
        nodes: nodes.map(nodeFields),
        initializers: [...initializers.map(({ raw }) => raw), ...constants.values()],
        inputs,
        outputs,
        domains,
      }),
  };
}

const ELEMENTWISE: ReadonlySet<string> = new Set(["Cast", "Abs", "Mul"]);
export const typeOfInput = (name: string) => (name === "items" ? ("int32" as const) : ("float32" as const));

export const opNode = (
  type: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, Attribute>>,
): ReadNode => ({
  type,
  inputs,
  outputs,
  rest: [text(4, type), ...Object.entries(attributes).map(([name, value]) => attributeField(name, value))],
});

const nodeFields = ({ inputs, outputs, rest }: ReadNode): Uint8Array[] => [
  ...inputs.map((name) => text(1, name)),
  ...outputs.map((name) => text(2, name)),
  ...rest,
];
