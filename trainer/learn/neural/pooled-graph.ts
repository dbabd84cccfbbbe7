import * as ort from "onnxruntime-node";
import { dotProducts, logPartition } from "../numerics/autodiff/losses.ts";
import {
  add,
  exponential,
  gatherRows,
  linear,
  multiply,
  poolRows,
  scale,
  unitRows,
} from "../numerics/autodiff/operators.ts";
import { type Parameter, type Parameters, parameter } from "../numerics/autodiff/parameters.ts";
import type { Tensor } from "../numerics/autodiff/tape.ts";
import { newTape, type Tape } from "../numerics/autodiff/tape.ts";
import { compileStep } from "../numerics/autodiff/training-step.ts";
import { type GraphBuilder, graphBuilder } from "../numerics/onnx/graph.ts";
import { cast, integer, integers } from "../numerics/onnx/graph-shorthand.ts";
import { normal } from "../numerics/seeded-random.ts";
import { type BatchScorer, openBatchScorer } from "./batch-scorer.ts";
import type { Candidates } from "./candidates.ts";
import { FEATURE_TABLE, type FeatureTable, featureFeeds, ITEM_TABLE, itemVectors } from "./item-vectors.ts";
import { type PooledBatch, partsOfPooledBatch, pooledBatch } from "./pooled-batches.ts";

export type PooledShape = {
  readonly itemCount: number;
  readonly width: number;
  /** Largest number of history entries that are pooled. */
  readonly length: number;
  /** True when an entry's weight depends on its distance from the newest entry. */
  readonly ordered: boolean;
};

export type FirstVectors = {
  readonly vectors?: Float32Array | undefined; // [itemCount * width]
  readonly featureCount?: number | undefined;
};

/**
 * Initial parameters: the given item vectors, random ones for items whose vector is zero, and the identity as projection, so that
 * training begins with a symmetric linear model. Place weights are logarithms, and fall with the distance from the newest entry.
 */
export function freshPooledParameters(
  { itemCount, width, length, ordered }: PooledShape,
  random: () => number,
  { vectors, featureCount = 0 }: FirstVectors = {},
): Parameters {
  const deviation = 1 / Math.sqrt(width);
  const table = (count: number, given?: Float32Array) =>
    parameter([count, width], (i) => given?.[i] || deviation * normal(random), { lazy: true });
  const entries: [string, Parameter][] = [
    [ITEM_TABLE, table(itemCount, vectors)],
    ...(featureCount > 0 ? [[FEATURE_TABLE, table(featureCount)] as [string, Parameter]] : []),
    ["projection", parameter([width, width], (i) => (i % (width + 1) === 0 ? 1 : 0))],
    ["everyone", parameter([width], () => 0)],
  ];
  if (ordered) entries.push(["place_weights", parameter([length], (place) => -place / length)]);
  return new Map(entries);
}

/** One forward and backward pass over a batch: returns the loss and leaves gradients in the parameters. */
export type PooledStep = { run(batch: PooledBatch): Promise<number>; release(): Promise<void> };

/**
 * Compiles training of a pooled model. A user is the weighted sum of its items' vectors, projected, at unit length. The loss is
 * exponent · log Σ e^(s / temperature) − s / temperature for cosines s over candidates, with all targets of a history together
 * (SimpleX, Mao et al. 2021; bilateral softmax, Wu et al. 2024). Without projection and temperature it is ELSA (Vančura et al. 2022).
 */
export async function compilePooledStep(
  shape: PooledShape,
  options: {
    readonly parameters: Parameters;
    readonly temperature: number;
    readonly exponent: number;
    readonly candidates: (targets: Int32Array) => Candidates;
    readonly features?: FeatureTable | undefined;
    readonly threads?: number;
  },
): Promise<PooledStep> {
  const { parameters, temperature, exponent, candidates, features, threads = 1 } = options;
  const graph = graphBuilder("pooled-training");
  const tape = newTape(graph);
  const input = (name: string, type: "int32" | "float32", ...dims: string[]) => graph.input(name, type, dims);
  const vectorsOf = itemVectors(tape, shape, features);
  const usersOf = pooledUsers(tape, shape, vectorsOf);
  const members = {
    items: input("members", "int32", "rows", "members"),
    mask: input("member_mask", "float32", "rows", "members"),
  };
  const users = scale(tape, usersOf(members), 1 / temperature);
  const rivals = unitRows(tape, vectorsOf(input("candidates", "int32", "candidates")));
  const wanted = unitRows(tape, vectorsOf(input("targets", "int32", "rows", "targets")));
  const pull = poolRows(tape, wanted, tape.constant(input("target_weights", "float32", "rows", "targets")));
  const push = logPartition(tape, {
    hidden: users,
    items: rivals,
    correction: input("correction", "float32", "candidates"),
    weights: input("row_weights", "float32", "rows"),
  });
  const loss = add(tape, scale(tape, push, exponent), scale(tape, dotProducts(tape, users, pull), -1));
  const step = await compileStep(tape, loss, parameters, { threads, constants: featureFeeds(features) });
  return {
    run: (batch) => {
      const drawn = candidates(batch.targets.filter((_, i) => batch.targetWeights[i]! > 0));
      return step.run(...partsOfPooledBatch(batch, threads).map((part) => pooledFeeds(part, drawn)));
    },
    release: () => step.release(),
  };
}

type Members = { readonly items: string; readonly mask: string };

/** Members int32 (row, member), newest first → users [rows, width] of unit length. */
function pooledUsers(tape: Tape, { width, length, ordered }: PooledShape, vectorsOf: (indices: string) => Tensor) {
  const weight = tape.parameter("projection", [width, width]);
  const bias = tape.parameter("everyone", [width]);
  const byPlace = ordered ? tape.parameter("place_weights", [length]) : undefined;
  return ({ items, mask }: Members): Tensor => {
    const constant = tape.constant(mask);
    const weights = byPlace ? placeWeights(tape, byPlace, { items, mask: constant }) : constant;
    return unitRows(tape, linear(tape, poolRows(tape, vectorsOf(items), weights), { weight, bias }));
  };
}

/** (row, member): exp of the learnt weight of each member's place; 0 for padding. */
function placeWeights(tape: Tape, table: Tensor, { items, mask }: { items: string; mask: Tensor }): Tensor {
  const logs = gatherRows(tape, table, placesOf(tape.graph, items));
  return multiply(tape, exponential(tape, logs), mask);
}

/** int32 (row, member): the place of each member in its row; 0 is the newest. */
function placesOf(graph: GraphBuilder, items: string): string {
  const size = graph.op("Shape", [items]);
  const places = graph.op("Range", [
    integer(graph, 0),
    graph.op("Gather", [size, integer(graph, 1)]),
    integer(graph, 1),
  ]);
  return cast(graph, graph.op("Expand", [graph.op("Unsqueeze", [places, integers(graph, 0)]), size]), "int32");
}

function pooledFeeds(batch: PooledBatch, { indices, correction }: Candidates): Record<string, ort.Tensor> {
  const { rowCount, memberMax, targetMax } = batch;
  return {
    members: new ort.Tensor("int32", batch.members, [rowCount, memberMax]),
    member_mask: new ort.Tensor("float32", batch.memberMask, [rowCount, memberMax]),
    targets: new ort.Tensor("int32", batch.targets, [rowCount, targetMax]),
    target_weights: new ort.Tensor("float32", batch.targetWeights, [rowCount, targetMax]),
    row_weights: new ort.Tensor("float32", batch.rowWeights, [rowCount]),
    candidates: new ort.Tensor("int32", indices, [indices.length]),
    correction: new ort.Tensor("float32", correction, [correction.length]),
  };
}

/** Scores all items by their cosine with a user, to evaluate folded parameters during training. */
export async function openPooledScorer(shape: PooledShape): Promise<BatchScorer> {
  const graph = graphBuilder("pooled-scoring");
  const tape = newTape(graph);
  const table = tape.parameter(ITEM_TABLE, [shape.itemCount, shape.width]);
  const usersOf = pooledUsers(tape, shape, (indices) => gatherRows(tape, table, indices));
  const items = graph.input("members", "int32", ["rows", "members"]);
  const users = usersOf({ items, mask: graph.input("member_mask", "float32", ["rows", "members"]) });
  const vectors = unitRows(tape, table);
  const scores = graph.op("Gemm", [users.value, vectors.value], { transB: { int: 1 } });
  return openBatchScorer(graph, scores, ({ rowCount, length, items, cells }) => {
    const sizes = new Int32Array(rowCount);
    for (const cell of cells) sizes[Math.floor(cell / length)]!++;
    const histories = Array.from(sizes, (size, row) => items.slice(row * length, row * length + size).reverse());
    const { members, memberMask, memberMax } = pooledBatch(
      histories.map((members) => ({ members, targets: NO_TARGETS })),
    );
    return {
      members: new ort.Tensor("int32", members, [rowCount, memberMax]),
      member_mask: new ort.Tensor("float32", memberMask, [rowCount, memberMax]),
    };
  });
}

const NO_TARGETS = new Int32Array(0);
