import { seededRandom } from "../numerics/seeded-random.ts";

/** The random numbers of one training: a stream for each purpose, and new streams for the batches and steps of each epoch. */
export type TrainingChance = {
  /** Of a purpose that is served before the first epoch. */
  readonly of: (purpose: "held_out" | "parameters" | "masks") => () => number;
  /** Of the batches of an epoch: the same each time. */
  readonly ofBatches: (epoch: number) => () => number;
  /** Of the steps: those of the epoch that began last. */
  readonly ofSteps: () => number;
  readonly beginEpoch: (epoch: number) => void;
};

const STREAMS = { held_out: 1, parameters: 2, masks: 3 } as const;
const FIRST_EPOCH = 10;

export function trainingChance(seed: number): TrainingChance {
  const batches = (epoch: number) => seededRandom(seed, FIRST_EPOCH + 2 * epoch);
  const steps = (epoch: number) => seededRandom(seed, FIRST_EPOCH + 2 * epoch + 1);
  let current = steps(0);
  return {
    of: (purpose) => seededRandom(seed, STREAMS[purpose]),
    ofBatches: batches,
    ofSteps: () => current(),
    beginEpoch(epoch) {
      current = steps(epoch);
    },
  };
}
