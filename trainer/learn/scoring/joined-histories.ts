/**
 * The nodes of a published graph for many histories whose items are given one after the other. What a graph does item by item is done for
 * all of them at once, and so is the last step, which gives a vector length 1 and makes codes of it. Other nodes are there once for each
 * history, since sums would be rounded in another way for several. Each of them takes some microseconds, however little it computes.
 */
import type { ReadGraph, ReadNode } from "../numerics/onnx/read-graph.ts";
import { type BatchWriter, ofHistory, opNode } from "./batch-graph.ts";

/** The input that has the number of items of each history: int64 [count]. */
export const LENGTHS = "lengths";

/** Nodes that do the same with each number. */
const ELEMENTWISE: ReadonlySet<string> = new Set([
  "Add",
  "Sub",
  "Mul",
  "Div",
  "Max",
  "Min",
  "Exp",
  "Neg",
  "Abs",
  "Cast",
]);

export type JoinedHistories = {
  readonly nodes: readonly ReadNode[];
  /** Values that are the same for all histories. */
  readonly shared: ReadonlySet<string>;
  /** Values of all histories, one after the other along this axis. */
  readonly joined: ReadonlyMap<string, number>;
  /** The nodes that each history has for itself. */
  readonly repeated: ReadonlySet<ReadNode>;
};

/** What can be done for all histories at once. `tables` are tensors of rows besides those of the graph: [n, width]. */
export function joinHistories(graph: ReadGraph, tables: readonly string[]): JoinedHistories {
  const stored = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  const shared = new Set(["", ...tables, ...stored.keys()]);
  const joined = new Map(graph.inputs.map((name) => [name, 0]));
  const repeated = new Set<ReadNode>();
  const sizeOf = (name: string) => stored.get(name)?.dims;
  const axisOf = ({ type, inputs }: ReadNode): number | undefined => {
    const [first, second] = inputs as [string, string];
    const axis = joined.get(first);
    if (type === "Gather") {
      const isOfItems = sizeOf(first)?.length === 1 || tables.includes(first);
      return isOfItems && joined.get(second) === 0 ? 0 : undefined;
    }
    if (type === "Unsqueeze") return axis === 0 && stored.get(second)?.integers?.join() === "0" ? 1 : undefined;
    const isNumber = (name: string) => sizeOf(name)?.join("") === "" || sizeOf(name)?.join() === "1";
    const isAlike = inputs.every((name) => joined.get(name) === axis || isNumber(name));
    return axis !== undefined && ELEMENTWISE.has(type) && isAlike ? axis : undefined;
  };
  for (const node of graph.nodes) {
    const axis = axisOf(node);
    if (axis !== undefined) joined.set(node.outputs[0]!, axis);
    else if (node.inputs.every((name) => shared.has(name))) for (const name of node.outputs) shared.add(name);
    else repeated.add(node);
  }
  return { nodes: graph.nodes, shared, joined, repeated };
}

/** Adds the nodes. Returns the name of a value of a history. */
export function addJoined({ nodes, shared, joined, repeated }: JoinedHistories, { each, add }: BatchWriter) {
  const split = new Set<string>();
  const named = (name: string, i: number): string => {
    if (shared.has(name)) return name;
    const axis = joined.get(name);
    if (axis !== undefined && !split.has(name)) {
      split.add(name);
      const parts = each.map((at) => ofHistory(name, at));
      add(opNode("Split", [name, LENGTHS], parts, { axis: { int: axis } }));
    }
    return ofHistory(name, i);
  };
  for (const node of nodes) {
    if (!repeated.has(node)) {
      add(node);
      continue;
    }
    for (const i of each) {
      const inputs = node.inputs.map((name) => named(name, i));
      add({ ...node, inputs, outputs: node.outputs.map((name) => (name === "" ? "" : ofHistory(name, i))) });
    }
  }
  return named;
}

/** The step of a graph that gives a vector length 1, done for many rows at once: a value is divided by its length, or by a smallest one. */
type Unit = { readonly of: string; readonly length: ReadNode; readonly floor: ReadNode; readonly quotient: ReadNode };

/** The step that makes the value `name` [1, width]; undefined if it is made in another way. */
export function unitStep(nodes: readonly ReadNode[], name: string): Unit | undefined {
  const maker = (value: string | undefined) => nodes.find(({ outputs }) => outputs[0] === value);
  const quotient = maker(name);
  const floor = maker(quotient?.inputs[1]);
  const length = maker(floor?.inputs[0]);
  if (quotient?.type !== "Div" || floor?.type !== "Max" || length?.type !== "ReduceL2") return undefined;
  const [of] = length.inputs;
  return of !== undefined && of === quotient.inputs[0] ? { of, length, floor, quotient } : undefined;
}

/** Adds this step for rows [count, width]. */
export function addUnitStep({ length, floor, quotient }: Unit, rows: string, { add }: BatchWriter): string {
  add({ ...length, inputs: [rows, ...length.inputs.slice(1)] });
  add(floor);
  add({ ...quotient, inputs: [rows, quotient.inputs[1]!] });
  return quotient.outputs[0]!;
}

/**
 * What DynamicQuantizeLinear makes of each row of [count, width], by the same arithmetic: whole numbers as float32, from which the code of
 * zero is subtracted, and what multiplies them [count, 1].
 *
 * Source: ONNX, DynamicQuantizeLinear, and its implementation in ONNX Runtime 1.30, which limits x / unit before it rounds.
 */
export function quantizedRows(rows: string, { op, number, constant }: BatchWriter) {
  const [zero, largestCode] = [number(0), number(255)];
  const most = op("Max", [op("ReduceMax", [rows, constant([1])]), zero]);
  const least = op("Min", [op("ReduceMin", [rows, constant([1])]), zero]);
  const range = op("Sub", [most, least]);
  const units = op("Where", [op("Equal", [range, zero]), number(1), op("Div", [range, largestCode])]);
  const code = op("Sub", [zero, op("Div", [least, units])]);
  const zeroCode = op("Round", [op("Max", [zero, op("Min", [largestCode, code])])]); // halves to even, as there
  const lowest = op("Neg", [zeroCode]);
  const highest = op("Sub", [largestCode, zeroCode]);
  const codes = op("Round", [op("Min", [op("Max", [op("Div", [rows, units]), lowest]), highest])]);
  return { codes, units };
}
