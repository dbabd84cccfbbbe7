/**
 * A scoring graph for many histories that finds where the best items are, without the scores of all of them. A number for each item and
 * history does not fit the cache, so that writing and reading it takes longer than the product itself. Here the product is made for some
 * thousand items at a time, and only the largest number of each group of items leaves the graph.
 *
 * This is possible for graphs whose last step is the product of a vector with all items, and perhaps a scale for each item.
 */

import type { ExportedModel } from "../model.ts";
import { type ReadGraph, type ReadNode, readGraph } from "../numerics/onnx/read-graph.ts";
import { batchWriter, historiesOfRun, opNode, typeOfInput } from "./batch-graph.ts";
import { addJoined, addUnitStep, joinHistories, LENGTHS, quantizedRows, unitStep } from "./joined-histories.ts";

/** Items of a group. Fewer make more numbers to read, more make more items to score for each group. */
export const GROUP_ITEMS = 8;
/** Groups of a cluster: the largest groups are searched for in the clusters with the largest numbers. */
export const CLUSTER_GROUPS = 16;
/** Clusters of a part of the items: the products of a part with 128 histories take 1 MB. */
const PART_CLUSTERS = 16;
const PART_GROUPS = PART_CLUSTERS * CLUSTER_GROUPS;
const PART_ITEMS = PART_GROUPS * GROUP_ITEMS;

/**
 * Float32 outputs: each history's vector [count, width], what multiplies its products [count, 1], and the largest product of each
 * cluster of groups. That of each group is in an output for each part, since the runtime takes as long to join them as for a quarter of
 * the products.
 */
export const HEAD_OUTPUTS = { rows: "head_rows", units: "head_units", clusters: "head_clusters" } as const;
export const groupsOutput = (part: number): string => `head_groups_${part}`;

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
  /** The inputs of the published graph, each for all histories, one after the other. The graph also has the input LENGTHS. */
  readonly inputs: readonly string[];
  /** How many of its newest items a history may have. */
  readonly longest: number;
  readonly items: ItemRows;
  /** The number of histories. */
  readonly count: number;
  /** The number of groups in each part: a multiple of CLUSTER_GROUPS, of which the last ones may have no items. */
  readonly partGroups: readonly number[];
  /** Whether the output of units is there. */
  readonly hasUnits: boolean;
};

/** The last part may have fewer clusters. */
const clustersOf = (part: number, itemCount: number) =>
  Math.min(PART_CLUSTERS, Math.ceil((itemCount - part * PART_ITEMS) / (CLUSTER_GROUPS * GROUP_ITEMS)));

/**
 * Where the groups of a cluster are: in which part, where the first of them is in it, and how far the others are apart. The group at
 * `at` of this part has the GROUP_ITEMS items from `firstItem + GROUP_ITEMS * at` on; those at or after `itemCount` do not exist.
 */
export function clusterAt(cluster: number, itemCount: number) {
  const part = Math.floor(cluster / PART_CLUSTERS);
  const apart = clustersOf(part, itemCount);
  const groups = CLUSTER_GROUPS * apart;
  return { part, first: cluster % PART_CLUSTERS, apart, groups, firstItem: part * PART_ITEMS };
}

/** Copies of all items as float32: as rows and as columns, each also in the runtime, and the rows as the model has them. */
const COPIES = 5;

/** Histories of a run. With fewer, reading the items takes a larger part of the time. */
const HISTORIES_MAX = 128;

/** Undefined if the graph does not end in the product of a vector with all items, or if the items need more than `bytesMax`. */
export function headGraph(exported: ExportedModel, itemCount: number, bytesMax: number): HeadGraph | undefined {
  const graph = withoutCut(readGraph(exported.graph));
  const end = endOf(graph, itemCount);
  if (end === undefined || COPIES * 4 * end.width * itemCount > bytesMax) return undefined;
  const items = itemRows(end, exported, itemCount);
  const { isBytes } = end;
  const before = graph.nodes.slice(0, end.at);
  const unit = unitStep(before, end.vector);
  const vector = unit?.of ?? end.vector;
  const histories = joinHistories({ ...graph, nodes: withLookUp(before, end.right.name, vector) }, [ROWS]);
  const count = historiesOfRun(histories.repeated.size, HISTORIES_MAX);
  const writer = batchWriter(count);
  const { op, constant } = writer;
  const named = addJoined(histories, writer);
  const vectors = writer.each.map((i) => named(vector, i));
  const joined = op("Reshape", [op("Concat", vectors, { axis: { int: 0 } }), constant([count, -1])]);
  const units = unit ? addUnitStep(unit, joined, writer) : joined;
  const coded = isBytes ? quantizedRows(units, writer) : undefined;
  const rows = coded?.codes ?? units;
  writer.rename(op("Identity", [rows]), HEAD_OUTPUTS.rows);
  if (coded) writer.rename(op("Identity", [coded.units]), HEAD_OUTPUTS.units);

  const table = isBytes ? scaledRows(items) : (items.values as Float32Array<ArrayBuffer>);
  writer.external(ROWS, [itemCount, items.width]);
  const files: { path: string; bytes: Uint8Array }[] = [{ path: ROWS, bytes: new Uint8Array(table.buffer) }];
  const output = (name: string, size: number) => ({ name, type: "float32" as const, dims: [count, size] });
  const outputs = [output(HEAD_OUTPUTS.rows, items.width)];
  const partGroups: number[] = [];
  const ofClusters: string[] = [];
  for (let part = 0; part * PART_ITEMS < itemCount; part++) {
    const clusters = clustersOf(part, itemCount);
    const groups = CLUSTER_GROUPS * clusters;
    const columns = columnsOf(items, part * PART_ITEMS, groups * GROUP_ITEMS);
    const path = `head_items_${part}.bin`;
    files.push({ path, bytes: new Uint8Array(columns.buffer) });
    const products = op("MatMul", [rows, writer.external(path, [items.width, groups * GROUP_ITEMS])]);
    /** The largest of each column of [size, n]. */
    const largestOf = (values: string, [size, n]: readonly [number, number]) => {
      const rowsOfEach = op("Reshape", [values, constant([count, size, n])]);
      return op("ReduceMax", [rowsOfEach, constant([1])], { keepdims: { int: 0 } });
    };
    const ofGroups = largestOf(products, [GROUP_ITEMS, groups]);
    writer.rename(ofGroups, groupsOutput(part));
    ofClusters.push(largestOf(groupsOutput(part), [CLUSTER_GROUPS, clusters]));
    partGroups.push(groups);
    outputs.push(output(groupsOutput(part), groups));
  }
  writer.rename(op("Concat", ofClusters, { axis: { int: 1 } }), HEAD_OUTPUTS.clusters);
  outputs.push(output(HEAD_OUTPUTS.clusters, partGroups.reduce((sum, groups) => sum + groups, 0) / CLUSTER_GROUPS));
  if (isBytes) outputs.push(output(HEAD_OUTPUTS.units, 1));
  const inputs = [
    ...graph.inputs.map((name) => ({ name, type: typeOfInput(name), dims: ["L"] })),
    { name: LENGTHS, type: "int64" as const, dims: [count] },
  ];
  return {
    graph: writer.build(graph, inputs, outputs),
    files,
    inputs: graph.inputs,
    longest: graph.longest,
    items,
    count,
    partGroups,
    hasUnits: isBytes,
  };
}

/** The graph without the node that takes the newest items of a history, and how many it takes. Callers take these themselves. */
function withoutCut(graph: ReadGraph): ReadGraph & { readonly longest: number } {
  const integerOf = (name: string | undefined) =>
    graph.initializers.find((tensor) => tensor.name === name)?.integers?.[0];
  const cuts = graph.nodes.filter(({ type, inputs }) => type === "Slice" && graph.inputs.includes(inputs[0]!));
  const newest = cuts.map(({ inputs: [, begin, end, axis] }) =>
    integerOf(begin)! < 0 && integerOf(end)! > 1e9 && integerOf(axis) === 0 ? -integerOf(begin)! : undefined,
  );
  const [longest] = newest;
  const isForAll =
    longest !== undefined && newest.every((count) => count === longest) && cuts.length === graph.inputs.length;
  if (!isForAll) return { ...graph, longest: Number.POSITIVE_INFINITY };
  const whole = new Map(cuts.map(({ inputs, outputs }) => [outputs[0]!, inputs[0]!]));
  const nodes = graph.nodes.filter((node) => !cuts.includes(node));
  const renamed = (node: ReadNode) => ({ ...node, inputs: node.inputs.map((name) => whole.get(name) ?? name) });
  return { ...graph, nodes: nodes.map(renamed), longest };
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
 * The nodes that the value `end` needs, with one node that looks the items of a history up in a table of rows. In the published graph a
 * dozen nodes read them from columns, which takes as long for a history as its part of the product.
 */
function withLookUp(nodes: readonly ReadNode[], table: string, end: string): ReadNode[] {
  const maker = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)));
  const replaced = new Map<string, ReadNode>();
  for (const node of nodes) {
    const after = AFTER_LOOK_UP[node.type];
    if (after === undefined || node.inputs[0] !== table) continue;
    let value: string | undefined = node.outputs[0];
    for (const type of after) value = nodes.find((next) => next.inputs[0] === value && next.type === type)?.outputs[0];
    let items = node.inputs[1]!;
    for (let made = maker.get(items); made && OF_INDICES.has(made.type); made = maker.get(items))
      items = made.inputs[0]!;
    if (value !== undefined) replaced.set(value, opNode("Gather", [ROWS, items], [value], { axis: { int: 0 } }));
  }
  const needed = new Set<string>([end]);
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
  /** What is multiplied with all items, before codes are made of it. */
  readonly vector: string;
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
  const coder = isBytes ? graph.nodes.find(({ outputs }) => outputs[0] === node!.inputs[0]) : undefined;
  if (isBytes && coder?.type !== "DynamicQuantizeLinear") return undefined;
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
  return value === "scores" ? { at, vector: (coder ?? node!).inputs[0]!, isBytes, right, width, scale } : undefined;
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

/**
 * [width, count] of the items from `first` on, so that column j * groups + g is item j of group g: the runtime finds the largest of several
 * rows faster than of neighbours in a row. Items beyond the last one are zeros.
 */
function columnsOf({ width, values, scales }: ItemRows, first: number, count: number): Float32Array<ArrayBuffer> {
  const columns = new Float32Array(width * count);
  const groups = count / GROUP_ITEMS;
  const known = Math.min(count, values.length / width - first);
  for (let at = 0; at < known; at++) {
    const column = (at % GROUP_ITEMS) * groups + Math.floor(at / GROUP_ITEMS);
    const scale = scales ? scales[first + at]! : 1;
    for (let i = 0; i < width; i++) columns[i * count + column] = values[(first + at) * width + i]! * scale;
  }
  return columns;
}
