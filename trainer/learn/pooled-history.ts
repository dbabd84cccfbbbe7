import { networkAttributes, vectorCount, withAttributes } from "./attributes/source-attributes.ts";
import type { Method, TrainingData } from "./model.ts";
import { candidateSource } from "./neural/candidates.ts";
import { fittedNetwork } from "./neural/fitted-network.ts";
import { describedItemTable, type FeatureTable } from "./neural/item-vectors.ts";
import { type PooledBatch, pooledEpoch } from "./neural/pooled-batches.ts";
import { POOLED_EXPORT } from "./neural/pooled-export.ts";
import { compilePooledStep, freshPooledParameters, openPooledScorer, type PooledShape } from "./neural/pooled-graph.ts";
import { type Network, trainNetwork } from "./neural/train-network.ts";
import { SPARSE_TOLERANCE, type TrainingPlan } from "./neural/training.ts";
import type { TrainingRandom } from "./neural/training-random.ts";
import { threadsMb, trainingThreads } from "./neural/training-threads.ts";
import { graphVectorSeconds, graphVectors } from "./statistics/graph-vectors.ts";
import { countItems, type Histories, isVerySparse, positiveHistories } from "./statistics/histories.ts";

export type PooledHistoryParams = {
  readonly width: number;
  /** Divides the cosines in the loss; a smaller temperature gives the hardest negatives more weight. */
  readonly temperature: number;
  /** Weight of the negatives in the loss: above 1 it is the bilateral softmax (Wu et al. 2024). */
  readonly exponent: number;
  /** 1: an entry's weight depends on its position, and the next item is the target; 0: a history is a set. */
  readonly ordered: number;
  readonly learningRate: number;
  readonly epochs: number;
  /** 1: items are also described by their attributes; absent or 0: only by vectors of their own. */
  readonly attributes?: number;
};

/**
 * Computes cosine(user, item), where the user is a projected, weighted sum of the history's item vectors. Trained by Adam on a sampled
 * softmax with a temperature (candidates as in Yi et al. 2019).
 * Wins: large data with time to train. Cost: fills the time that it is given.
 */
export const pooledHistory: Method<PooledHistoryParams> = {
  name: "pooled_history",
  fillsItsTime: true,
  grid: (data) => {
    const [temperature, other] = isVerySparse(data) ? [0.2, 0.12] : [0.12, 0.2];
    const set = { width: 64, learningRate: 1e-2, epochs: epochsFor(data), temperature, exponent: 1.1, ordered: 0 };
    return withAttributes<PooledHistoryParams>(
      [set, { ...set, ordered: 1 }, { ...set, temperature: other }],
      networkAttributes(data),
    );
  },
  // Training adapts to its time budget, so this is the shortest training that is worthwhile: a third of the epochs.
  cost(data, params) {
    const { width } = params;
    const epochs = Math.ceil(params.epochs / 3);
    const rowsPerEpoch = Math.min(data.userCount, data.items.length);
    const candidates = Math.min(data.itemCount, CANDIDATES_TYPICAL);
    const perRow = 6 * width * candidates;
    return {
      seconds:
        3 +
        graphVectorSeconds(data, width) +
        (epochs * (rowsPerEpoch * perRow + 2000 * width * data.items.length)) / FLOPS,
      memoryMb:
        250 +
        threadsMb(data.items.length) +
        (4 * (3 * ROWS_MAX * candidates + 8 * width * vectorCount(data, params) + 6 * CELLS_MAX * width)) / 1e6,
    };
  },
  async fit(data, params, context) {
    const ordered = params.ordered === 1;
    const histories = positiveHistories(data, NEWEST);
    const shape = {
      itemCount: data.itemCount,
      width: params.width,
      length: ordered ? ORDERED_LENGTH : SET_LENGTH,
      ordered,
    };
    const features = params.attributes ? describedItemTable(data) : undefined;
    const averages = await trainNetwork(histories, context, async (random, learnt) => {
      // Vectors that know who chose an item leave nothing for its features to learn, so described items begin at random.
      const inGraph = { ...context, random: random.of("vectors") };
      const vectors = features ? undefined : await graphVectors(learnt, params.width, inGraph);
      const threads = trainingThreads(data.items.length, context.threads);
      return networkOf(histories, shape, { params, random, vectors, features, threads });
    });
    return fittedNetwork({ method: "pooled_history", params }, { shape, parameters: averages }, POOLED_EXPORT);
  },
};

/** Multiply-adds per second in training, measured end to end. */
const FLOPS = 4e10;
/** Largest number of users, and of their history entries, in a batch. */
const ROWS_MAX = 512;
const CELLS_MAX = 20_000;
/** History entries that are read as a set, and in order. */
const SET_LENGTH = 500;
const ORDERED_LENGTH = 100;
/** Newest entries of a history that are trained on. */
const NEWEST = 1000;
/** Items drawn as candidates besides a batch's targets, and a typical total. */
const DRAWN_COUNT = 1024;
const CANDIDATES_TYPICAL = 10_000;
const STEPS_MIN = 400;

/** 24 epochs, or up to 240 on small data so that there are at least 400 steps. */
function epochsFor({ userCount }: TrainingData): number {
  const stepsPerEpoch = Math.max(1, userCount / ROWS_MAX);
  return Math.max(24, Math.min(240, Math.ceil(STEPS_MIN / stepsPerEpoch)));
}

type FirstState = {
  readonly params: PooledHistoryParams;
  readonly random: TrainingRandom;
  readonly vectors: Float32Array | undefined;
  readonly features: FeatureTable | undefined;
  readonly threads: number;
};

function networkOf(
  histories: Histories,
  shape: PooledShape,
  { params, random, vectors, features, threads }: FirstState,
): Network<PooledBatch> {
  const { length, ordered, itemCount } = shape;
  const first = { vectors, featureCount: features?.featureCount };
  const parameters = freshPooledParameters(shape, random.of("parameters"), first);
  return {
    parameters,
    features,
    length,
    batches: (ends, random) =>
      pooledEpoch(histories, ends, { length, ordered, cellsMax: CELLS_MAX, rowsMax: ROWS_MAX, random }),
    compileStep() {
      const drawnCount = Math.min(DRAWN_COUNT, itemCount);
      const candidates = candidateSource({ targetCounts: countItems(histories), drawnCount, random: random.ofSteps });
      return compilePooledStep(shape, {
        parameters,
        temperature: params.temperature,
        exponent: params.exponent,
        candidates,
        features,
        threads,
      });
    },
    openScorer: () => openPooledScorer(shape),
    plan: (stepsPerEpoch) => planFor(params, stepsPerEpoch),
  };
}

const planFor = ({ learningRate, epochs }: PooledHistoryParams, stepsPerEpoch: number): TrainingPlan => ({
  epochs,
  learningRate,
  warmupSteps: 20,
  averagedSteps: Math.max(20, 2 * stepsPerEpoch),
  patience: Math.max(10, Math.ceil(epochs / 4)),
  tolerance: SPARSE_TOLERANCE,
});
