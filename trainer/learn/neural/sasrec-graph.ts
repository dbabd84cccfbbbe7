import * as ort from "onnxruntime-node";
import { dotProducts, logPartition } from "../numerics/autodiff/losses.ts";
import { add, gatherRows, poolRows, scale, selectRows } from "../numerics/autodiff/operators.ts";
import type { Parameters } from "../numerics/autodiff/parameters.ts";
import type { Tensor } from "../numerics/autodiff/tape.ts";
import { newTape, type Tape } from "../numerics/autodiff/tape.ts";
import { compileStep } from "../numerics/autodiff/training-step.ts";
import { type GraphBuilder, graphBuilder } from "../numerics/onnx/graph.ts";
import { integers } from "../numerics/onnx/graph-shorthand.ts";
import { type BatchScorer, openBatchScorer } from "./batch-scorer.ts";
import { partsOfBatch, type SequenceBatch } from "./batches.ts";
import type { Candidates } from "./candidates.ts";
import { type FeatureTable, featureFeeds, ITEM_TABLE, itemVectors } from "./item-vectors.ts";
import { ownRivals } from "./own-rivals.ts";
import { type DropoutMasks, NO_DROPOUT, type TransformerShape, transformer } from "./transformer.ts";

/** One forward and backward pass over a batch: returns the loss and leaves gradients in the parameters. */
export type BatchStep = { run(batch: SequenceBatch): Promise<number>; release(): Promise<void> };

export type StepOptions = {
  readonly parameters: Parameters;
  /** Returns a dropout mask of the given size; absent: no dropout. */
  readonly dropoutMask?: (size: number) => Float32Array;
  /** The items that compete with a batch's targets: drawn ones, or the whole catalog. */
  readonly candidates: (targets: Int32Array) => Candidates;
  /** True: the items of a window do not compete for its targets; absent: they do. */
  readonly sparesOwn?: boolean;
  readonly features?: FeatureTable | undefined;
  /** Threads that share the rows of a batch; absent: one. */
  readonly threads?: number;
};

/**
 * Compiles next-item training with a cross entropy: the mean over cells of log Σ e^score − score of the target. With drawn
 * candidates it is the sampled softmax with correction (Jean et al. 2015; Yi et al. 2019).
 */
export async function compileSasrecStep(
  shape: TransformerShape,
  { parameters, dropoutMask, candidates, sparesOwn, features, threads = 1 }: StepOptions,
): Promise<BatchStep> {
  const graph = graphBuilder("sasrec-training");
  const tape = newTape(graph);
  const masks = declaredMasks(graph, shape, dropoutMask);
  const items = graph.input("items", "int32", ["batch", "length"]);
  const positions = graph.input("cells", "int32", ["cells"]);
  const inverse = graph.input("inverse", "int32", ["padded"]);
  const targets = graph.input("targets", "int32", ["cells"]);
  const rivals = graph.input("candidates", "int32", ["candidates"]);
  const correction = graph.input("correction", "float32", ["candidates"]);
  const weights = graph.input("weights", "float32", ["cells"]);
  const vectorsOf = itemVectors(tape, shape, features);
  const hidden = selectRows(tape, expectations(tape, shape, { vectorsOf, items, masks: masks.declare }), {
    positions,
    inverse,
  });
  const leftOut = sparesOwn ? graph.input("left_out", "int32", ["left_out"]) : undefined;
  const push = logPartition(tape, { hidden, items: vectorsOf(rivals), correction, weights, leftOut });
  const asColumn = (value: string) => graph.op("Unsqueeze", [value, integers(graph, 1)]);
  const pull = poolRows(tape, vectorsOf(asColumn(targets)), tape.constant(asColumn(weights)));
  const loss = add(tape, push, scale(tape, dotProducts(tape, hidden, pull), -1));
  const step = await compileStep(tape, loss, parameters, { threads, constants: featureFeeds(features) });
  const ownOf = sparesOwn ? ownRivals(shape.itemCount) : undefined;
  return {
    run: (batch) => {
      const drawn = candidates(batch.targets);
      const feedsOf = (part: SequenceBatch) => ({
        ...sequenceFeeds(part, 1 / batch.targets.length),
        ...masks.draw(part.rowCount * part.length),
        ...candidateFeeds(drawn),
        ...(ownOf && leftOutFeeds(ownOf(part, drawn))),
      });
      return step.run(...partsOfBatch(batch, threads).map(feedsOf));
    },
    release: () => step.release(),
  };
}

/** The network without gradients, to evaluate folded parameters during training. */
export async function openSasrecScorer(shape: TransformerShape): Promise<BatchScorer> {
  const graph = graphBuilder("sasrec-scoring");
  const tape = newTape(graph);
  const items = graph.input("items", "int32", ["batch", "length"]);
  const newest = graph.input("newest", "int32", ["batch"]);
  const table = tape.parameter(ITEM_TABLE, [shape.itemCount, shape.width]);
  const vectorsOf = (indices: string) => gatherRows(tape, table, indices);
  const hidden = expectations(tape, shape, { vectorsOf, items, masks: NO_DROPOUT });
  const last = graph.op("Gather", [hidden.value, newest]);
  const scores = graph.op("Gemm", [last, table.value], { transB: { int: 1 } });
  return openBatchScorer(graph, scores, ({ rowCount, length, items, cells }) => {
    const places = new Int32Array(rowCount);
    for (const cell of cells) places[Math.floor(cell / length)] = cell; // cells ascend, so the last cell of a row stays
    return {
      items: new ort.Tensor("int32", items, [rowCount, length]),
      newest: new ort.Tensor("int32", places, [rowCount]),
    };
  });
}

type Expecting = {
  readonly vectorsOf: (indices: string) => Tensor;
  readonly items: string;
  readonly masks: DropoutMasks;
};

/** int32 (batch, length) item indices → [batch · length, width]: what the network expects after each entry. */
function expectations(tape: Tape, shape: TransformerShape, { vectorsOf, items, masks }: Expecting): Tensor {
  const { graph } = tape;
  const vectors = vectorsOf(graph.op("Reshape", [items, integers(graph, -1)]));
  return transformer(tape, shape, { vectors, size: graph.op("Shape", [items]), masks });
}

const sequenceFeeds = ({ rowCount, length, items, cells, inverse, targets }: SequenceBatch, weight: number) => ({
  items: new ort.Tensor("int32", items, [rowCount, length]),
  cells: new ort.Tensor("int32", cells, [cells.length]),
  inverse: new ort.Tensor("int32", inverse, [inverse.length]),
  targets: new ort.Tensor("int32", targets, [targets.length]),
  weights: new ort.Tensor("float32", new Float32Array(targets.length).fill(weight), [targets.length]),
});

const candidateFeeds = ({ indices, correction }: Candidates) => ({
  candidates: new ort.Tensor("int32", indices, [indices.length]),
  correction: new ort.Tensor("float32", correction, [correction.length]),
});

const leftOutFeeds = (places: Int32Array) => ({ left_out: new ort.Tensor("int32", places, [places.length]) });

/** Declares a graph input for each mask that the network uses, and draws the masks of a batch. */
function declaredMasks(graph: GraphBuilder, { width }: TransformerShape, dropoutMask: StepOptions["dropoutMask"]) {
  const names: string[] = [];
  const declare: DropoutMasks = () => {
    if (!dropoutMask) return undefined;
    const name = graph.input(`mask_${names.length}`, "float32", ["padded", width]);
    names.push(name);
    return name;
  };
  const draw = (cells: number): Record<string, ort.Tensor> =>
    Object.fromEntries(
      names.map((name) => [name, new ort.Tensor("float32", dropoutMask!(cells * width), [cells, width])]),
    );
  return { declare, draw };
}
