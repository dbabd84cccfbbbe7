import { seededRandom } from "../numerics/seeded-random.ts";

/** The random numbers of one training. Every purpose, and the batches and steps of every epoch, have their own stream. */
export type TrainingRandom = {
  /** The stream of a purpose that is needed once, before the first epoch. */
  readonly of: (purpose: "held_out" | "parameters" | "masks" | "vectors") => () => number;
  /** The stream of an epoch's batches. */
  readonly ofBatches: (epoch: number) => () => number;
  /** The next random number of the current epoch's steps. */
  readonly ofSteps: () => number;
  readonly beginEpoch: (epoch: number) => void;
};

const STREAMS = { held_out: 1, parameters: 2, masks: 3, vectors: 4 } as const;
const FIRST_EPOCH = 10;

export function trainingRandom(seed: number): TrainingRandom {
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

/**
 * Dropout masks: 0 with probability `rate` and 1 / (1 − rate) otherwise. Masks are windows at random places of one pool that
 * is drawn once, which costs a thousandth of drawing each mask, and is in memory that threads share.
 *
 * @param options `sizeMax`: the largest mask; `random`: for the pool; `places`: for where windows begin.
 */
export function maskPool(
  rate: number,
  { sizeMax, random, places }: { sizeMax: number; random: () => number; places: () => number },
): (size: number) => Float32Array {
  const pool = new Float32Array(new SharedArrayBuffer(4 * (sizeMax + SPARE)));
  const kept = 1 / (1 - rate);
  for (let i = 0; i < pool.length; i++) pool[i] = random() < rate ? 0 : kept;
  return (size) => {
    const start = Math.floor(places() * (pool.length - size));
    return pool.subarray(start, start + size);
  };
}

/** Length of the pool beyond the largest mask, so that windows differ in where they begin. */
const SPARE = 1 << 20;
