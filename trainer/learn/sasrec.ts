import { networkAttributes, vectorCount, withAttributes } from "./attributes/source-attributes.ts";
import type { Method, TrainingData } from "./model.ts";
import { epochBatches, type SequenceBatch, tiesShuffled } from "./neural/batches.ts";
import { candidateSource, wholeCatalog } from "./neural/candidates.ts";
import { fittedNetwork } from "./neural/fitted-network.ts";
import { describedItemTable, type FeatureTable } from "./neural/item-vectors.ts";
import { SASREC_EXPORT } from "./neural/sasrec-export.ts";
import { compileSasrecStep, openSasrecScorer } from "./neural/sasrec-graph.ts";
import { freshParameters } from "./neural/sasrec-parameters.ts";
import { type Network, trainNetwork } from "./neural/train-network.ts";
import { SPARSE_TOLERANCE, type TrainingPlan } from "./neural/training.ts";
import { maskPool, type TrainingRandom } from "./neural/training-random.ts";
import { threadsMb, trainingThreads } from "./neural/training-threads.ts";
import { MATRICES_PER_BLOCK, type TransformerShape } from "./neural/transformer.ts";
import { graphVectorSeconds, graphVectors } from "./statistics/graph-vectors.ts";
import { countItems, type Histories, positiveHistories, positiveTimes } from "./statistics/histories.ts";
import { hasRepeats } from "./statistics/valued-histories.ts";

export type SasrecParams = {
  /** Largest number of history entries. */
  readonly length: number;
  readonly width: number;
  readonly blocks: number;
  readonly heads: number;
  readonly dropout: number;
  readonly learningRate: number;
  /** Planned epochs; fewer when time is short. */
  readonly epochs: number;
  /** Items drawn as negatives besides a batch's own targets; 0: the whole catalog. */
  readonly drawnCount: number;
  /** 1: items are also described by their attributes; absent or 0: only by vectors of their own. */
  readonly attributes?: number;
};

/**
 * Computes scores = transformer(history) · item vectors (SASRec, Kang and McAuley 2018), trained with a cross entropy over the
 * catalog (Klenitskiy and Vasilev 2023), or over sampled candidates for large catalogs (sampled softmax, Jean et al. 2015). Where few
 * items are chosen again, a user's own items do not compete (LOG.md, "Own items in a network's loss").
 * Wins: next item, where data and time allow. Cost: fills the time that it is given.
 */
export const sasrec: Method<SasrecParams> = {
  name: "sasrec",
  reads: "sequence",
  fillsItsTime: true,
  grid: (data) => withAttributes<SasrecParams>([settingsFor(data)], networkAttributes(data)),
  smaller: (params) => (params.blocks > BLOCKS ? { ...params, blocks: BLOCKS } : undefined),
  // Training adapts to its time budget, so this is the shortest training that is worthwhile: a third of the epochs.
  cost(data, params) {
    const { width, blocks } = params;
    const epochs = Math.min(params.epochs, Math.max(EPOCHS_MIN, Math.ceil(params.epochs / 3)));
    const parameterCount = width * (vectorCount(data, params) + blocks * MATRICES_PER_BLOCK * width);
    const rivals = rivalCount(data.itemCount, params);
    return {
      seconds: 5 + (isDense(data) ? 0 : graphVectorSeconds(data, width)) + epochs * secondsPerEpoch(data, params),
      memoryMb:
        250 + threadsMb(data.items.length) + (4 * (CELLS_MAX * (4 * rivals + 140 * width) + 8 * parameterCount)) / 1e6,
    };
  },
  async fit(data, params, context) {
    const histories = positiveHistories(data);
    const { length, width, blocks, heads } = params;
    const shape: TransformerShape = { itemCount: data.itemCount, length, width, blocks, heads };
    const times = positiveTimes(data);
    const features = params.attributes ? describedItemTable(data) : undefined;
    const averages = await trainNetwork(histories, context, async (random, learnt) => {
      const inGraph = { ...context, random: random.of("vectors") };
      const vectors = isDense(data) ? undefined : await graphVectors(learnt, width, inGraph);
      const sparesOwn = !hasRepeats(data);
      const threads = trainingThreads(data.items.length, context.threads);
      return networkOf(histories, shape, { params, times, random, vectors, features, sparesOwn, threads });
    });
    return fittedNetwork({ method: "sasrec", params }, { shape, parameters: averages }, SASREC_EXPORT);
  },
};

/**
 * From this number of interactions per item on, four blocks pay on large data (LOG.md, "A gated feed-forward part"), and vectors of the
 * graph change nothing at the first places (LOG.md, "First vectors of the graph in sasrec").
 */
const DENSE_FROM = 100;
export const isDense = ({ items, itemCount }: TrainingData) => items.length >= DENSE_FROM * itemCount;

/** So few interactions that a narrow network ranks best, with more of the ridges beside it (LOG.md, "Networks on small data"). */
export const isSmall = ({ items }: TrainingData) => items.length < 20_000;
/** Multiply-adds per second of one thread in training, measured end to end. */
const FLOPS = 4.5e10;
/** Operations of a block's matrices for each entry and width²: by number 78, but the wide matrices run faster than `FLOPS` says. */
const PER_BLOCK = 56;
const EPOCHS_MIN = 6;
/** The usual number of blocks, and that of large dense data whose time does not suffice for four. */
const BLOCKS = 2;
/** Largest number of history entries in a batch: their activations stay in the last-level cache. */
const CELLS_MAX = 1600;
/** Steps of an epoch of small data, whose batches are smaller; of tiny data, fewer. */
const SMALL_EPOCH_STEPS = 40;
const cellsOfBatch = (entryCount: number) =>
  Math.max(256, Math.min(CELLS_MAX, Math.ceil(entryCount / SMALL_EPOCH_STEPS)));
/** Planned epochs, more of them where the data are so small that they have too few steps (LOG.md, "Networks on small data"). */
const TRAINING = {
  sparse: { epochs: 14, stepsMin: 1300 },
  other: { epochs: 24, stepsMin: 2000 },
} as const;
const DRAWN_COUNT = 256;
/** From this catalog size on, item tables are updated row by row, because a batch touches few rows. */
const LAZY_ITEMS_MIN = 8000;

/** Approximate number of candidates of a batch; half of its targets are distinct. */
const rivalCount = (itemCount: number, { drawnCount }: SasrecParams) =>
  drawnCount === 0 ? itemCount : Math.min(itemCount, CELLS_MAX / 2 + drawnCount);

function secondsPerEpoch(data: TrainingData, params: SasrecParams): number {
  const { length, width, blocks } = params;
  const perCell = 6 * width * rivalCount(data.itemCount, params) + blocks * PER_BLOCK * width ** 2;
  let products = 0;
  for (let user = 0; user < data.userCount; user++) {
    const cells = Math.min(length, data.userStart[user + 1]! - data.userStart[user]!);
    products += cells * (perCell + blocks * 12 * cells * width);
  }
  return products / FLOPS;
}

/** Settings for this size of data: wider networks for more data, more dropout for fewer entries per item. */
function settingsFor(data: TrainingData): SasrecParams {
  const histories = positiveHistories(data);
  const entryCount = histories.items.length;
  const entriesPerItem = entryCount / Math.max(1, data.itemCount);
  const isLarge = entryCount >= 400_000;
  const isDeep = isLarge && isDense(data);
  const stepsPerEpoch = Math.max(SMALL_EPOCH_STEPS, entryCount / CELLS_MAX);
  const { epochs, stepsMin } = isSparse(histories) ? TRAINING.sparse : TRAINING.other;
  return {
    length: lengthCovering(histories, 0.95),
    width: isSmall(data) ? 32 : isLarge ? 128 : 64,
    blocks: isDeep ? 4 : BLOCKS,
    heads: 2,
    dropout: entriesPerItem > 100 ? 0.25 : isSparse(histories) ? 0.5 : 0.35,
    learningRate: isDeep ? 1e-3 : 2e-3,
    epochs: Math.max(epochs, Math.ceil(stepsMin / stepsPerEpoch)),
    drawnCount: data.itemCount > CELLS_MAX ? DRAWN_COUNT : 0,
  };
}

/** Short trainings were tried up to rates of .003 to .005, by data set, without harm (LOG.md, "The rate of short trainings"). */
const LEARNING_RATE_MAX = 4e-3;
/**
 * At most this number of entries per item: most dropout, the last epoch counts (LOG.md, "The last epoch on sparse data"), and more epochs
 * gain nothing (LOG.md, "The rate of short trainings").
 */
const SPARSE_UP_TO = 30;
const isSparse = ({ items, itemCount }: Histories) => items.length <= SPARSE_UP_TO * Math.max(1, itemCount);

/** The smallest multiple of ten, from 10 to 200, that holds the whole history of the given fraction of users. */
function lengthCovering({ start, userCount }: Histories, fraction: number): number {
  const lengths = Uint32Array.from({ length: userCount }, (_, user) => start[user + 1]! - start[user]!).sort();
  const enough = lengths[Math.floor(fraction * (userCount - 1))] ?? 0;
  return Math.min(200, 10 * Math.max(1, Math.ceil(enough / 10)));
}

type NetworkOptions = {
  readonly params: SasrecParams;
  /** The second of each entry of the histories. */
  readonly times: ArrayLike<number>;
  readonly random: TrainingRandom;
  readonly vectors: Float32Array | undefined;
  readonly features: FeatureTable | undefined;
  /** True where users hardly ever choose an item again: what they have is not ranked, so it need not score low. */
  readonly sparesOwn: boolean;
  readonly threads: number;
};

function networkOf(
  histories: Histories,
  shape: TransformerShape,
  { params, times, random, vectors, features, sparesOwn, threads }: NetworkOptions,
): Network<SequenceBatch> {
  const { drawnCount, dropout } = params;
  const { itemCount, length, width } = shape;
  const lazy = drawnCount > 0 && itemCount >= LAZY_ITEMS_MIN;
  const featureCount = features?.featureCount ?? 0;
  const parameters = freshParameters(shape, random.of("parameters"), { lazy, featureCount, vectors });
  const cellsMax = Math.max(length, cellsOfBatch(histories.items.length));
  return {
    parameters,
    features,
    length,
    batches(ends, random) {
      const items = tiesShuffled(histories, ends, { times, random });
      return epochBatches({ ...histories, items }, ends, { length, cellsMax, random });
    },
    compileStep() {
      const pool = { sizeMax: cellsMax * width, random: random.of("masks"), places: random.ofSteps };
      const draw = { targetCounts: countItems(histories), drawnCount, random: random.ofSteps };
      const candidates = drawnCount === 0 ? wholeCatalog(itemCount) : candidateSource(draw);
      const dropoutMask = maskPool(dropout, pool);
      return compileSasrecStep(shape, { parameters, dropoutMask, candidates, sparesOwn, features, threads });
    },
    openScorer: () => openSasrecScorer(shape),
    plan: (stepsPerEpoch) => sasrecPlan(params, stepsPerEpoch, histories),
  };
}

export const sasrecPlan = (
  { learningRate, epochs }: SasrecParams,
  stepsPerEpoch: number,
  histories: Histories,
): TrainingPlan => ({
  epochs,
  learningRate,
  learningRateMax: Math.max(learningRate, LEARNING_RATE_MAX),
  warmupSteps: Math.min(200, Math.ceil((epochs * stepsPerEpoch) / 10)),
  averagedSteps: Math.max(20, 2 * stepsPerEpoch),
  patience: Math.max(6, Math.ceil(epochs / 3)),
  tolerance: isSparse(histories) ? SPARSE_TOLERANCE : 0,
});
