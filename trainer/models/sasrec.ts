import { maskPool } from "../autodiff/mask-pool.ts";
import { seededRandom } from "../evaluate/seeded-random.ts";
import { type Histories, positiveHistories } from "./histories.ts";
import type { FitContext, Method, TrainingData } from "./model.ts";
import { type Averages, averagesOf } from "./neural-averages.ts";
import { epochBatches } from "./neural-batches.ts";
import { sasrecScores } from "./neural-forward.ts";
import { holdOut, judgeHeldOut } from "./neural-held-out.ts";
import { appendSasrec } from "./neural-sasrec-export.ts";
import { compileSasrecStep, openSasrecScorer } from "./neural-sasrec-graph.ts";
import { freshParameters } from "./neural-sasrec-parameters.ts";
import { type Trainee, type TrainingPlan, trainEpochs } from "./neural-training.ts";
import type { TransformerShape } from "./neural-transformer.ts";
import { type AppendScores, type BlendableModel, exportScores } from "./scoring-graph.ts";

export type SasrecParams = {
  /** History entries at most. */
  readonly length: number;
  readonly width: number;
  readonly blocks: number;
  readonly heads: number;
  readonly dropout: number;
  readonly learningRate: number;
  readonly epochs: number;
};

/** Next-item transformer (Kang and McAuley 2018) with a full cross entropy (Klenitskiy and Vasilev 2023). */
export const sasrec: Method<SasrecParams> = {
  name: "sasrec",
  grid: (data) => [settingsFor(data)],
  cost(data, { length, width, blocks, epochs }) {
    const cells = Math.min(data.items.length, data.userCount * length);
    const perCell = 6 * width * data.itemCount + blocks * (36 * width ** 2 + 14 * length * width);
    const parameterCount = width * (data.itemCount + blocks * 6 * width);
    return {
      seconds: 5 + (epochs * cells * perCell) / FLOPS,
      memoryMb: 250 + (CELLS_MAX * (3 * data.itemCount + 60 * width) * 4 + parameterCount * 4 * 8) / 1e6,
    };
  },
  async fit(data, params, context) {
    const histories = positiveHistories(data);
    const shape: TransformerShape = { itemCount: data.itemCount, ...params };
    const averages = await learn(histories, shape, { params, context });
    return fittedSasrec(shape, params, averages);
  },
};

/** Multiply-adds and everything around them that one thread manages in a second, twice the former counted. */
const FLOPS = 4.5e10;
/** History entries of a batch: the activations of so many stay in the last-level cache. */
const CELLS_MAX = 3200;
/** Fewer where data are few, so that an epoch has some forty steps. */
const cellsOfBatch = (entryCount: number) => Math.max(256, Math.min(CELLS_MAX, Math.ceil(entryCount / 40)));

function settingsFor(data: TrainingData): SasrecParams {
  const histories = positiveHistories(data);
  const entryCount = histories.items.length;
  const width = data.itemCount < 500 ? 32 : 64;
  const stepsPerEpoch = Math.max(1, entryCount / cellsOfBatch(entryCount));
  const epochs = Math.max(30, Math.ceil(STEPS_MIN / stepsPerEpoch));
  const length = lengthCovering(histories, 0.95);
  return { length, width, blocks: 2, heads: 2, dropout: 0.2, learningRate: 1e-3, epochs };
}
/** What a network needs to learn anything at all, however few the data. */
const STEPS_MIN = 600;

/** A multiple of ten, 10 to 200, that holds the whole history of the given share of users. */
function lengthCovering({ start, userCount }: Histories, share: number): number {
  const lengths = Uint32Array.from({ length: userCount }, (_, user) => start[user + 1]! - start[user]!).sort();
  const enough = lengths[Math.floor(share * (userCount - 1))] ?? 0;
  return Math.min(200, 10 * Math.max(1, Math.ceil(enough / 10)));
}

async function learn(
  histories: Histories,
  shape: TransformerShape,
  { params, context }: { readonly params: SasrecParams; readonly context: FitContext },
): Promise<Averages> {
  const seed = Math.floor(context.random() * 2 ** 32);
  const chance = (stream: number) => seededRandom(seed, stream);
  const heldOut = holdOut(histories, chance(1));
  const parameters = freshParameters(shape, chance(2));
  context.signal.throwIfAborted();
  const { length } = shape;
  const cellsMax = Math.max(length, cellsOfBatch(histories.items.length));
  const epoch = (number: number) =>
    epochBatches(histories, heldOut.ends, { length, cellsMax, random: chance(10 + number) });
  const stepsPerEpoch = [...epoch(0)].length;
  if (stepsPerEpoch === 0) return nothingLearnt(averagesOf(parameters));

  const mask = maskPool(params.dropout, { sizeMax: cellsMax * shape.width, random: chance(3) });
  const step = await compileSasrecStep(shape, { parameters, dropout: { activation: mask } });
  const scorer = await openSasrecScorer(shape);
  const trainee: Trainee<Parameters<typeof step.run>[0]> = {
    parameters,
    epoch,
    stepsPerEpoch,
    step: (batch) => step.run(batch),
    judge: (averages) => judgeHeldOut(scorer, averages, { histories, heldOut, length }),
  };
  const identity = JSON.stringify({ shape, params, seed, entries: histories.items.length });
  try {
    return (await trainEpochs(trainee, planFor(params, stepsPerEpoch), { context, identity })).averages;
  } finally {
    await Promise.all([step.release(), scorer.release()]);
  }
}

const planFor = ({ learningRate, epochs }: SasrecParams, stepsPerEpoch: number): TrainingPlan => ({
  epochs,
  learningRate,
  warmupSteps: Math.min(200, Math.ceil((epochs * stepsPerEpoch) / 10)),
  weightDecay: 0,
  averagedSteps: Math.max(20, 2 * stepsPerEpoch),
  patience: Math.max(5, Math.ceil(epochs / 4)),
});

/** Without a single pair of entries to learn from, every score is 0: catalog order, which is popularity. */
function nothingLearnt(averages: Averages): Averages {
  for (const { value } of averages.values()) value.fill(0);
  return averages;
}

function fittedSasrec(shape: TransformerShape, params: SasrecParams, parameters: Averages): BlendableModel {
  const append: AppendScores = (graph, inputs, budget) => appendSasrec(graph, inputs, { shape, parameters }, budget);
  return {
    method: "sasrec",
    params,
    append,
    historyMax: shape.length,
    export: exportScores("sasrec", shape.itemCount, append),
    score: ({ items }) => sasrecScores(shape, parameters, items),
  };
}
