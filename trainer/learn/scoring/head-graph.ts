/**
 * A scoring graph for many histories that finds where the best items are, without the scores of all of them. A number for each item and
 * history does not fit the cache, so that writing and reading it takes longer than the product itself. Here the product is made for some
 * thousand items at a time, and only the largest number of each group of items leaves the graph.
 *
 * This is possible for graphs whose last step is the product of a vector with all items, and perhaps a scale for each item.
 */

import type { ExportedModel } from "../model.ts";
import { DATA_TYPES } from "../numerics/onnx/proto.ts";
import { type ReadGraph, type ReadNode, readGraph } from "../numerics/onnx/read-graph.ts";
import { batchWriter, historiesOfRun, ofHistory, opNode } from "./batch-graph.ts";

/** Items of a group. Fewer make more numbers to read, more make more items to score for each group. */
export const GROUP_ITEMS = 8;
/** Groups of a part of the items: the products of a part with 128 histories take 1 MB. */
const PART_GROUPS = 256;
const PART_ITEMS = PART_GROUPS * GROUP_ITEMS;

/** Float32 outputs: each history's vector [count, width], what multiplies its products [count, 1], and the largest of each group. */
export const HEAD_OUTPUTS = { rows: "head_rows", units: "head_units", largest: "head_largest" } as const;

/** The vectors of all items. */
export type ItemRows = {
  readonly width: number;
  /** [itemCount * width] */
  readonly values: Float32Array | Int8Array;
  /** Multiplies the products of each item. [itemCount] */
  readonly scales: Float32Array | undefined;
};

export type HeadGraph = {
  readonly graph: Uint8Array;
  /** The items of each part as columns, times their scales. */
  readonly files: ExportedModel["weights"];
  readonly inputs: readonly string[];
  readonly items: ItemRows;
  /** The number of histories. */
  readonly count: number;
  readonly groupCount: number;
  /** Whether the output of units is there. */
  readonly hasUnits: boolean;
};

const groupCountOf = (itemCount: number) => Math.ceil(itemCount / GROUP_ITEMS);

/**
 * The first item of a group, and how far its GROUP_ITEMS items are apart; those at or after `itemCount` do not exist. They are not
 * neighbours, because the runtime finds the largest of several rows faster than of neighbours in a row.
 */
export function firstOfGroup(group: number, itemCount: number) {
  const part = Math.floor(group / PART_GROUPS);
  return { first: part * PART_ITEMS + (group % PART_GROUPS), apart: groupsOf(part, itemCount) };
}

const groupsOf = (part: number, itemCount: number) =>
  Math.min(PART_GROUPS, groupCountOf(itemCount - part * PART_ITEMS));

/** Copies of all items as float32: as rows and as columns, each also in the runtime, and the rows as the model has them. */
const COPIES = 5;

/** Histories of a run. With fewer, reading the items takes a larger part of the time. */
const HISTORIES_MAX = 128;

/** Undefined if the graph does not end in the product of a vector with all items, or if the items need more than `bytesMax`. */
export function headGraph(exported: ExportedModel, itemCount: number, bytesMax: number): HeadGraph | undefined {
  const graph = readGraph(exported.graph);
  const end = endOf(graph, itemCount);
  if (end === undefined || COPIES * 4 * end.width * itemCount > bytesMax) return undefined;
  const items = itemRows(end, exported, itemCount);
  const nodes = withLookUp(graph.nodes.slice(0, end.at), end);
  const count = historiesOfRun(nodes.length, HISTORIES_MAX);
  const writer = batchWriter(count);
  const { each, op, constant } = writer;
  const named = repeatNodes({ ...graph, nodes }, writer);
  const { isBytes } = end;
  const [left, , unit, itemUnit, zero] = end.node.inputs as [string, string, string, string, string];
  const float = (name: string) => op("Cast", [name], { to: { int: DATA_TYPES.float32 } });
  /** [count, n] of what a history has n numbers of. */
  const together = (names: readonly string[]) =>
    op("Reshape", [op("Concat", names, { axis: { int: 0 } }), constant([count, -1])]);
  const scalars = (name: string) => together(each.map((i) => op("Reshape", [named(name, i), constant([1])])));
  const vectors = together(each.map((i) => named(left, i)));
  const rows = isBytes ? op("Sub", [float(vectors), float(scalars(zero))]) : vectors;
  writer.rename(op("Identity", [rows]), HEAD_OUTPUTS.rows);
  if (isBytes) writer.rename(op("Mul", [scalars(unit), itemUnit]), HEAD_OUTPUTS.units);

  const table = isBytes ? scaledRows(items) : (items.values as Float32Array<ArrayBuffer>);
  writer.external(ROWS, [itemCount, items.width]);
  const files: { path: string; bytes: Uint8Array }[] = [{ path: ROWS, bytes: new Uint8Array(table.buffer) }];
  const largest: string[] = [];
  for (let part = 0; part * PART_ITEMS < itemCount; part++) {
    const groups = groupsOf(part, itemCount);
    const columns = columnsOf(items, part * PART_ITEMS, groups * GROUP_ITEMS);
    const path = `head_items_${part}.bin`;
    files.push({ path, bytes: new Uint8Array(columns.buffer) });
    const products = op("MatMul", [rows, writer.external(path, [items.width, groups * GROUP_ITEMS])]);
    const grouped = op("Reshape", [products, constant([count, GROUP_ITEMS, groups])]);
    largest.push(op("ReduceMax", [grouped, constant([1])], { keepdims: { int: 0 } }));
  }
  writer.rename(op("Concat", largest, { axis: { int: 1 } }), HEAD_OUTPUTS.largest);
  const groupCount = groupCountOf(itemCount);
  const output = (name: string, size: number) => ({ name, type: "float32" as const, dims: [count, size] });
  const outputs = [output(HEAD_OUTPUTS.rows, items.width), output(HEAD_OUTPUTS.largest, groupCount)];
  if (isBytes) outputs.push(output(HEAD_OUTPUTS.units, 1));
  return {
    graph: writer.build(graph, outputs),
    files,
    inputs: graph.inputs,
    items,
    count,
    groupCount,
    hasUnits: isBytes,
  };
}

/** Adds the nodes of a graph, once for each history unless they are the same for all. Returns a value's name for a history. */
function repeatNodes(graph: ReadGraph, { each, add }: ReturnType<typeof batchWriter>) {
  const shared = new Set(["", ROWS, ...graph.initializers.map(({ name }) => name)]);
  const named = (name: string, i: number) => (shared.has(name) ? name : ofHistory(name, i));
  for (const node of graph.nodes) {
    const isShared = node.inputs.every((name) => shared.has(name));
    if (isShared) for (const name of node.outputs) shared.add(name);
    for (const i of isShared ? [0] : each) {
      const inputs = node.inputs.map((name) => named(name, i));
      add({ ...node, inputs, outputs: node.outputs.map((name) => (name === "" ? "" : named(name, i))) });
    }
  }
  return named;
}

/** The file with all items as rows. */
const ROWS = "head_rows.bin";
/** What published graphs do with the vectors that they look up, by the node that reads the table (byte-matrix.ts, item-matrix.ts). */
const AFTER_LOOK_UP: Readonly<Record<string, readonly string[]>> = {
  GatherND: ["Cast", "Sub", "Mul"],
  GatherElements: ["Transpose"],
};
const OF_INDICES: ReadonlySet<string> = new Set(["Add", "Mul", "Div", "Mod", "Cast", "Unsqueeze", "Expand"]);

/**
 * The nodes that the end needs, with one node that looks the items of a history up in a table of rows. In the published graph a dozen nodes
 * read them from columns, which takes as long for a history as its part of the product.
 */
function withLookUp(nodes: readonly ReadNode[], { right, node: end }: End): ReadNode[] {
  const maker = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
  const replaced = new Map<string, ReadNode>();
  for (const node of nodes) {
    const after = AFTER_LOOK_UP[node.type];
    if (after === undefined || node.inputs[0] !== right.name) continue;
    let value: string | undefined = node.outputs[0];
    for (const type of after) value = nodes.find((next) => next.inputs[0] === value && next.type === type)?.outputs[0];
    let items = node.inputs[1]!;
    for (let made = maker.get(items); made && OF_INDICES.has(made.type); made = maker.get(items))
      items = made.inputs[0]!;
    if (value !== undefined) replaced.set(value, opNode("Gather", [ROWS, items], [value], { axis: { int: 0 } }));
  }
  const needed = new Set<string>(end.inputs);
  const kept: ReadNode[] = [];
  for (const node of nodes.toReversed()) {
    if (!node.outputs.some((name) => needed.has(name))) continue;
    const made = replaced.get(node.outputs[0]!) ?? node;
    for (const name of made.inputs) needed.add(name);
    kept.unshift(made);
  }
  return kept;
}

/** The product with all items, which is the end of a graph. */
type End = {
  readonly at: number;
  readonly node: ReadNode;
  readonly isBytes: boolean;
  readonly right: Stored;
  readonly width: number;
  readonly scale: Stored | undefined;
};
type Stored = ReadGraph["initializers"][number];

function endOf(graph: ReadGraph, itemCount: number): End | undefined {
  const stored = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  const at = graph.nodes.findLastIndex(({ type }) => type === "MatMul" || type === "MatMulIntegerToFloat");
  const node = graph.nodes[at];
  const right = node && stored.get(node.inputs[1]!);
  if (right?.path === undefined) return undefined;
  const isBytes = node!.type === "MatMulIntegerToFloat";
  if (isBytes ? right.dims.length !== 3 : right.dims[1] !== itemCount) return undefined;
  let value = node!.outputs[0]!;
  let scale: Stored | undefined;
  for (const { type, inputs, outputs } of graph.nodes.slice(at + 1)) {
    const factor = type === "Mul" ? stored.get(inputs[1]!) : undefined;
    const isScale = scale === undefined && factor?.path !== undefined && factor.dims.join() === String(itemCount);
    const isSame =
      type === "Identity" || type === "Slice" || (type === "Reshape" && stored.get(inputs[1]!)?.dims.join() === "1");
    if (inputs[0] !== value || !(isScale || isSame)) return undefined;
    if (isScale) scale = factor;
    value = outputs[0]!;
  }
  const width = right.dims[isBytes ? 1 : 0]!;
  return value === "scores" ? { at, node: node!, isBytes, right, width, scale } : undefined;
}

/** The code that stands for 0 in a matrix of bytes (byte-matrix.ts). */
const ZERO = 128;

function itemRows({ right, width, scale, isBytes }: End, { weights }: ExportedModel, itemCount: number): ItemRows {
  const bytesOf = ({ path }: Stored) => weights.find((file) => file.path === path)!.bytes;
  const floats = (tensor: Stored) => new Float32Array(bytesOf(tensor).slice().buffer);
  const across = isBytes ? right.dims[2]! : itemCount;
  const values = new (isBytes ? Int8Array : Float32Array)(itemCount * width);
  const [from, zero] = isBytes ? [bytesOf(right), ZERO] : [floats(right), 0];
  for (let item = 0; item < itemCount; item++) {
    const block = Math.floor(item / across);
    const first = block * across * width + (item % across);
    for (let i = 0; i < width; i++) values[item * width + i] = from[first + i * across]! - zero;
  }
  return { width, values, scales: scale && floats(scale) };
}

/** The vectors of items times their scales. */
function scaledRows({ width, values, scales }: ItemRows): Float32Array<ArrayBuffer> {
  const rows = Float32Array.from(values);
  if (scales) for (let at = 0; at < rows.length; at++) rows[at]! *= scales[Math.floor(at / width)]!;
  return rows;
}

/** [width, count] of the items from `first` on; items beyond the last one are zeros. */
function columnsOf({ width, values, scales }: ItemRows, first: number, count: number): Float32Array<ArrayBuffer> {
  const columns = new Float32Array(width * count);
  const known = Math.min(count, values.length / width - first);
  for (let at = 0; at < known; at++) {
    const scale = scales ? scales[first + at]! : 1;
    for (let i = 0; i < width; i++) columns[i * count + at] = values[(first + at) * width + i]! * scale;
  }
  return columns;
}
