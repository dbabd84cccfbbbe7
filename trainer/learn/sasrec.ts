import type { AppendScores, FitContext, FittedModel, Method, TrainingData } from "./model.ts";
import { type Averages, averagesOf } from "./neural/averages.ts";
import { epochBatches } from "./neural/batches.ts";
import { candidateSource } from "./neural/candidates.ts";
import { type HeldOut, holdOut, judgeHeldOut } from "./neural/held-out.ts";
import { appendSasrec, sasrecScores } from "./neural/sasrec-export.ts";
import { causalSpansFor, compileSasrecStep, openSasrecScorer } from "./neural/sasrec-graph.ts";
import { freshParameters } from "./neural/sasrec-parameters.ts";
import { type Trainee, type TrainingPlan, trainEpochs } from "./neural/training.ts";
import { maskPool, trainingRandom } from "./neural/training-random.ts";
import type { TransformerShape } from "./neural/transformer.ts";
import { exportScores } from "./scoring/scoring-graph.ts";
import { type Histories, positiveHistories } from "./statistics/histories.ts";

export type SasrecParams = {
  /** History entries at most. */
  readonly length: number;
  readonly width: number;
  readonly blocks: number;
  readonly heads: number;
  readonly dropout: number;
  readonly learningRate: number;
  /** With time to spare; with less, fewer. */
  readonly epochs: number;
  /** Items drawn to compete besides a batch's own targets; 0: the whole catalog competes. */
  readonly drawnCount: number;
};

/**
 * Next-item transformer (SASRec, Kang and McAuley 2018) with a cross entropy over the catalog (Klenitskiy and Vasilev 2023),
 * or over candidates where the catalog is larger than what a batch names (sampled softmax, Jean et al. 2015).
 */
export const sasrec: Method<SasrecParams> = {
  name: "sasrec",
  fillsItsTime: true,
  grid: (data) => [settingsFor(data)],
  // Training adapts to the time it is given, so what is predicted is the least that is worth it.
  cost(data, params) {
    const { width, blocks } = params;
    const epochs = Math.min(params.epochs, Math.max(EPOCHS_LEAST, Math.ceil(params.epochs / 3)));
    const parameterCount = width * (data.itemCount + blocks * 6 * width);
    const rivals = rivalCount(data.itemCount, params);
    return {
      seconds: 5 + epochs * secondsPerEpoch(data, params),
      memoryMb: 250 + (4 * (CELLS_MAX * (3 * rivals + 100 * width) + 8 * parameterCount)) / 1e6,
    };
  },
  fit: async (data, params, context) => (await fitSasrec(data, params, context)).model,
};

/** The fitted network, and the entries that it has not learnt from. */
export async function fitSasrec(
  data: TrainingData,
  params: SasrecParams,
  context: FitContext,
): Promise<{ readonly model: FittedModel; readonly heldOut: HeldOut }> {
  const histories = positiveHistories(data);
  const { length, width, blocks, heads } = params;
  const shape: TransformerShape = { itemCount: data.itemCount, length, width, blocks, heads };
  const { averages, heldOut } = await learn(histories, shape, { params, context });
  return { model: fittedSasrec(shape, params, averages), heldOut };
}

/** Multiplications and additions of the products that one thread manages in a second, everything around them included. */
const FLOPS = 4.5e10;
const EPOCHS_LEAST = 8;
/** History entries of a batch: the activations of so many stay in the last-level cache, and steps are many. */
const CELLS_MAX = 1600;
/** Fewer where data are few, so that an epoch has some forty steps. */
const cellsOfBatch = (entryCount: number) => Math.max(256, Math.min(CELLS_MAX, Math.ceil(entryCount / 40)));
/** What a network needs to learn anything at all, however few the data. */
const STEPS_MIN = 300;
const DRAWN_COUNT = 256;
/** Items from which tables are updated row by row: a batch touches a small part. */
const LAZY_ITEMS_MIN = 8000;

/** Items that compete for a batch's targets, about: half of its targets differ. */
const rivalCount = (itemCount: number, { drawnCount }: SasrecParams) =>
  drawnCount === 0 ? itemCount : Math.min(itemCount, CELLS_MAX / 2 + drawnCount);

function secondsPerEpoch(data: TrainingData, params: SasrecParams): number {
  const { length, width, blocks } = params;
  const perCell = 6 * width * rivalCount(data.itemCount, params) + blocks * 36 * width ** 2;
  let products = 0;
  for (let user = 0; user < data.userCount; user++) {
    const cells = Math.min(length, data.userStart[user + 1]! - data.userStart[user]!);
    products += cells * (perCell + blocks * 12 * cells * width);
  }
  return products / FLOPS;
}

/** Wider networks for more data, and the more dropout the less is known of each item. */
function settingsFor(data: TrainingData): SasrecParams {
  const histories = positiveHistories(data);
  const entryCount = histories.items.length;
  const entriesPerItem = entryCount / Math.max(1, data.itemCount);
  const isSmall = entryCount < 10_000;
  const stepsPerEpoch = Math.max(1, entryCount / cellsOfBatch(entryCount));
  return {
    length: lengthCovering(histories, 0.95),
    width: isSmall ? 32 : entryCount < 400_000 ? 64 : 128,
    blocks: isSmall ? 1 : 2,
    heads: 2,
    dropout: entriesPerItem > 100 ? 0.25 : entriesPerItem > 30 ? 0.35 : 0.5,
    learningRate: isSmall ? 3e-3 : 1e-3,
    epochs: Math.max(24, Math.ceil(STEPS_MIN / stepsPerEpoch)),
    drawnCount: data.itemCount > CELLS_MAX ? DRAWN_COUNT : 0,
  };
}

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
): Promise<{ readonly averages: Averages; readonly heldOut: HeldOut }> {
  const seed = Math.floor(context.random() * 2 ** 32);
  const chance = trainingRandom(seed);
  const heldOut = holdOut(histories, chance.of("held_out"));
  const lazy = params.drawnCount > 0 && shape.itemCount >= LAZY_ITEMS_MIN;
  const parameters = freshParameters(shape, chance.of("parameters"), { lazy });
  context.signal.throwIfAborted();
  const { length } = shape;
  const lengthLeast = causalSpansFor(shape);
  const cellsMax = Math.max(length, cellsOfBatch(histories.items.length));
  const epoch = (number: number) => {
    chance.beginEpoch(number);
    return epochBatches(histories, heldOut.ends, { length, lengthLeast, cellsMax, random: chance.ofBatches(number) });
  };
  const stepsPerEpoch = [...epoch(0)].length;
  if (stepsPerEpoch === 0) return { averages: nothingLearnt(averagesOf(parameters)), heldOut };

  const places = chance.ofSteps;
  const mask = maskPool(params.dropout, { sizeMax: cellsMax * shape.width, random: chance.of("masks"), places });
  const candidates = params.drawnCount === 0 ? undefined : candidatesOf(histories, params.drawnCount, chance.ofSteps);
  const step = await compileSasrecStep(shape, { parameters, dropoutMask: mask, candidates });
  const scorer = await openSasrecScorer(shape);
  const trainee: Trainee<Parameters<typeof step.run>[0]> = {
    parameters,
    epoch,
    stepsPerEpoch,
    step: (batch) => step.run(batch),
    judge: (averages) => judgeHeldOut(scorer, averages, { histories, heldOut, length, signal: context.signal }),
  };
  try {
    const { averages } = await trainEpochs(trainee, planFor(params, stepsPerEpoch), context);
    return { averages, heldOut };
  } finally {
    await Promise.all([step.release(), scorer.release()]);
  }
}

function candidatesOf({ items, itemCount }: Histories, drawnCount: number, random: () => number) {
  const targetCounts = new Float64Array(itemCount);
  for (const item of items) targetCounts[item]!++;
  return candidateSource({ targetCounts, drawnCount, random });
}

const planFor = ({ learningRate, epochs }: SasrecParams, stepsPerEpoch: number): TrainingPlan => ({
  epochs,
  learningRate,
  warmupSteps: Math.min(200, Math.ceil((epochs * stepsPerEpoch) / 10)),
  averagedSteps: Math.max(20, 2 * stepsPerEpoch),
  patience: Math.max(6, Math.ceil(epochs / 3)),
});

/** Without a single pair of entries to learn from, every score is 0: catalog order, which is popularity. */
function nothingLearnt(averages: Averages): Averages {
  for (const { value } of averages.values()) value.fill(0);
  return averages;
}

function fittedSasrec(shape: TransformerShape, params: SasrecParams, parameters: Averages): FittedModel {
  const append: AppendScores = (graph, items, budget) => appendSasrec(graph, items, { shape, parameters }, budget);
  return {
    method: "sasrec",
    params,
    itemCount: shape.itemCount,
    historyMax: shape.length,
    append,
    export: exportScores("sasrec", shape.itemCount, append),
    score: ({ items }) => sasrecScores(shape, parameters, items),
  };
}
