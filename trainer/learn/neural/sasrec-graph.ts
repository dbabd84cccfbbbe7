import * as ort from "onnxruntime-node";
import { linearCrossEntropy } from "../numerics/autodiff/losses.ts";
import { gatherRows, selectRows } from "../numerics/autodiff/operators.ts";
import type { Parameters } from "../numerics/autodiff/parameters.ts";
import type { Tensor } from "../numerics/autodiff/tape.ts";
import { newTape, type Tape } from "../numerics/autodiff/tape.ts";
import { compileStep } from "../numerics/autodiff/training-step.ts";
import { type GraphBuilder, graphBuilder } from "../numerics/onnx/graph.ts";
import { integers } from "../numerics/onnx/graph-shorthand.ts";
import { type BatchScorer, openBatchScorer } from "./batch-scorer.ts";
import type { SequenceBatch } from "./batches.ts";
import type { Candidates } from "./candidates.ts";
import { type DropoutMasks, NO_DROPOUT, type TransformerShape, transformer } from "./transformer.ts";

/** The parameter whose rows are the items' vectors, for the input and for the prediction. */
export const ITEM_TABLE = "item_table";

/** One forward and backward pass over a batch: returns the loss and leaves gradients in the parameters. */
export type BatchStep = { run(batch: SequenceBatch): Promise<number>; release(): Promise<void> };

export type StepOptions = {
  readonly parameters: Parameters;
  /** Returns a dropout mask of the given size; absent: no dropout. */
  readonly dropoutMask?: (size: number) => Float32Array<ArrayBuffer>;
  /** Draws the items that compete with a batch's targets; absent: the whole catalog competes. */
  readonly candidates?: ((targets: Int32Array) => Candidates) | undefined;
};

/** Compiles next-item training with a cross entropy over the catalog, or over candidates that are drawn for each batch. */
export async function compileSasrecStep(
  shape: TransformerShape,
  { parameters, dropoutMask, candidates }: StepOptions,
): Promise<BatchStep> {
  const graph = graphBuilder("sasrec-training");
  const tape = newTape(graph);
  const masks = declaredMasks(graph, shape, dropoutMask);
  const items = graph.input("items", "int32", ["batch", "length"]);
  const positions = graph.input("cells", "int32", ["cells"]);
  const inverse = graph.input("inverse", "int32", ["padded"]);
  const targets = graph.input("targets", "int32", ["cells"]);
  const table = tape.parameter(ITEM_TABLE, [shape.itemCount, shape.width]);
  const hidden = expectations(tape, shape, { table, items, masks: masks.declare });
  const selected = selectRows(tape, hidden, { positions, inverse });
  const rivals = candidates ? { candidates: declaredCandidates(graph) } : {};
  const loss = linearCrossEntropy(tape, { hidden: selected, table, targets, ...rivals });
  const step = await compileStep(tape, loss, parameters);
  return {
    run: (batch) =>
      step.run({
        ...sequenceFeeds(batch),
        ...masks.draw(batch.rowCount * batch.length),
        ...(candidates && candidateFeeds(candidates(batch.targets))),
      }),
    release: () => step.release(),
  };
}

/** The network without gradients, to evaluate parameters during training. */
export async function openSasrecScorer(shape: TransformerShape): Promise<BatchScorer> {
  const graph = graphBuilder("sasrec-scoring");
  const tape = newTape(graph);
  const items = graph.input("items", "int32", ["batch", "length"]);
  const newest = graph.input("newest", "int32", ["batch"]);
  const table = tape.parameter(ITEM_TABLE, [shape.itemCount, shape.width]);
  const hidden = expectations(tape, shape, { table, items, masks: NO_DROPOUT });
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

type Expecting = { readonly table: Tensor; readonly items: string; readonly masks: DropoutMasks };

/** int32 (batch, length) item indices → [batch · length, width]: what the network expects after each entry. */
function expectations(tape: Tape, shape: TransformerShape, { table, items, masks }: Expecting): Tensor {
  const { graph } = tape;
  const vectors = gatherRows(tape, table, graph.op("Reshape", [items, integers(graph, -1)]));
  return transformer(tape, shape, { vectors, size: graph.op("Shape", [items]), masks });
}

const sequenceFeeds = ({ rowCount, length, items, cells, inverse, targets }: SequenceBatch) => ({
  items: new ort.Tensor("int32", items, [rowCount, length]),
  cells: new ort.Tensor("int32", cells, [cells.length]),
  inverse: new ort.Tensor("int32", inverse, [inverse.length]),
  targets: new ort.Tensor("int32", targets, [targets.length]),
});

const declaredCandidates = (graph: GraphBuilder) => ({
  indices: graph.input("candidates", "int32", ["candidates"]),
  targetPlaces: graph.input("target_places", "int32", ["cells"]),
  correction: graph.input("correction", "float32", ["candidates"]),
});
const candidateFeeds = ({ indices, targetPlaces, correction }: Candidates) => ({
  candidates: new ort.Tensor("int32", indices, [indices.length]),
  target_places: new ort.Tensor("int32", targetPlaces, [targetPlaces.length]),
  correction: new ort.Tensor("float32", correction, [correction.length]),
});

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
