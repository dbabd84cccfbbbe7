import * as ort from "onnxruntime-node";
import { integers } from "../numerics/autodiff/graph-shorthand.ts";
import { linearCrossEntropy } from "../numerics/autodiff/linear-cross-entropy.ts";
import type { Parameters } from "../numerics/autodiff/parameters.ts";
import type { Tensor } from "../numerics/autodiff/recorded.ts";
import { gatherRows, selectRows } from "../numerics/autodiff/rows.ts";
import { newTape, type Tape } from "../numerics/autodiff/tape.ts";
import { compileStep, openSession } from "../numerics/autodiff/training-step.ts";
import { type GraphBuilder, graphBuilder } from "../numerics/onnx/graph.ts";
import type { Averages } from "./averages.ts";
import type { SequenceBatch } from "./batches.ts";
import type { Candidates } from "./candidates.ts";
import { type DropoutMasks, NO_DROPOUT, type TransformerShape, transformer } from "./transformer.ts";

/** The parameter whose rows are the items' vectors, both as input and as what is predicted. */
export const ITEM_TABLE = "item_table";

/** Attention over long histories leaves out keys that lie ahead, by spans. */
const SPANS = 4;
const SPAN_LENGTH_LEAST = 100;

/** Of training, in which a batch is at least so long. */
export const causalSpansFor = ({ length }: TransformerShape) => (length >= SPAN_LENGTH_LEAST ? SPANS : 1);

type MaskSource = (size: number) => Float32Array<ArrayBuffer>;
type MaskKind = "activation" | "attention";

/** What a step drops; nothing where absent. */
export type Dropout = { readonly [Kind in MaskKind]?: MaskSource | undefined };

/** One pass over a batch, forward and backward: gives the loss and leaves gradients in the parameters. */
export type BatchStep = { run(batch: SequenceBatch): Promise<number>; release(): Promise<void> };

export type StepOptions = {
  readonly parameters: Parameters;
  readonly dropout: Dropout;
  /** What competes for a batch's targets; absent: the whole catalog. */
  readonly candidates?: ((targets: Int32Array) => Candidates) | undefined;
};

/** Compiles next-item training with a cross entropy over the catalog or over candidates drawn for each batch. */
export async function compileSasrecStep(
  shape: TransformerShape,
  { parameters, dropout, candidates }: StepOptions,
): Promise<BatchStep> {
  const graph = graphBuilder("sasrec-training");
  const tape = newTape(graph);
  const masks = declaredMasks(graph, shape, dropout);
  const items = graph.input("items", "int32", ["batch", "length"]);
  const positions = graph.input("cells", "int32", ["cells"]);
  const inverse = graph.input("inverse", "int32", ["padded"]);
  const targets = graph.input("targets", "int32", ["cells"]);
  const table = tape.parameter(ITEM_TABLE, [shape.itemCount, shape.width]);
  const causalSpans = causalSpansFor(shape);
  const hidden = expectations(tape, shape, { table, items, masks: masks.drop, causalSpans });
  const selected = selectRows(tape, hidden, { positions, inverse });
  const rivals = candidates ? { candidates: declaredCandidates(graph) } : {};
  const loss = linearCrossEntropy(tape, { hidden: selected, table, targets, ...rivals });
  const step = await compileStep(tape, loss, { parameters });
  return {
    run: (batch) =>
      step.run({
        ...sequenceFeeds(batch),
        ...masks.draw(batch.rowCount, batch.length),
        ...(candidates && candidateFeeds(candidates(batch.targets))),
      }),
    release: () => step.release(),
  };
}

/** Scores of every item after each of several histories. */
export type BatchScorer = {
  /** Float32Array(rowCount * itemCount): what should follow each window's last entry. */
  score(parameters: Averages, batch: SequenceBatch): Promise<Float32Array>;
  release(): Promise<void>;
};

/** The network without gradients, for judging parameters while they are learnt. */
export async function openSasrecScorer(shape: TransformerShape): Promise<BatchScorer> {
  const graph = graphBuilder("sasrec-scoring");
  const tape = newTape(graph);
  const items = graph.input("items", "int32", ["batch", "length"]);
  const newest = graph.input("newest", "int32", ["batch"]);
  const table = tape.parameter(ITEM_TABLE, [shape.itemCount, shape.width]);
  const hidden = expectations(tape, shape, { table, items, masks: NO_DROPOUT });
  const last = graph.op("Gather", [hidden.value, newest]);
  graph.output("scores", graph.op("Gemm", [last, table.value], { transB: { int: 1 } }), "float32", null);
  const session = await openSession(graph.build());
  return {
    async score(parameters, { rowCount, length, items, cells }) {
      const feeds: Record<string, ort.Tensor> = {};
      for (const [name, { value, dims }] of parameters) feeds[name] = new ort.Tensor("float32", value, dims);
      feeds.items = new ort.Tensor("int32", items, [rowCount, length]);
      const places = new Int32Array(rowCount);
      for (const cell of cells) places[Math.floor(cell / length)] = cell; // ascending: the last one stays
      feeds.newest = new ort.Tensor("int32", places, [rowCount]);
      return (await session.run(feeds)).scores!.data as Float32Array;
    },
    release: () => session.release(),
  };
}

type Expecting = {
  readonly table: Tensor;
  readonly items: string;
  readonly masks: DropoutMasks;
  readonly causalSpans?: number;
};

/** [batch · length, width] for item indices int32 (batch, length). */
function expectations(tape: Tape, shape: TransformerShape, { table, items, ...rest }: Expecting): Tensor {
  const { graph } = tape;
  const vectors = gatherRows(tape, table, graph.op("Reshape", [items, integers(graph, -1)]));
  return transformer(tape, shape, { vectors, size: graph.op("Shape", [items]), ...rest });
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

/** Graph inputs for the masks that the network asks for, and their contents for one batch. */
function declaredMasks(graph: GraphBuilder, { width, heads }: TransformerShape, dropout: Dropout) {
  const declared: { readonly name: string; readonly kind: MaskKind }[] = [];
  const declare = (kind: MaskKind, dims: readonly (string | number)[]) => () => {
    if (!dropout[kind]) return undefined;
    const name = `${kind}_mask_${declared.length}`;
    declared.push({ name, kind });
    return graph.input(name, "float32", dims);
  };
  const drop: DropoutMasks = {
    activation: declare("activation", ["padded", width]),
    attention: declare("attention", ["batch", heads, "length", "length"]),
  };
  const draw = (rows: number, length: number): Record<string, ort.Tensor> => {
    const dims = { activation: [rows * length, width], attention: [rows, heads, length, length] };
    const mask = (kind: MaskKind) => dropout[kind]!(dims[kind].reduce((product, dim) => product * dim, 1));
    return Object.fromEntries(
      declared.map(({ name, kind }) => [name, new ort.Tensor("float32", mask(kind), dims[kind])]),
    );
  };
  return { drop, draw };
}
