import { availableParallelism } from "node:os";

const THREADS_MAX = 4;
/** History entries from which on a step is long enough to be shared. */
const ENTRIES_MIN = 64_000;
/** Memory of a thread and its session, besides a part's activations. */
const THREAD_MB = 40;

/**
 * Threads that compute one step together. With another number the same seed gives another network, since sums are rounded in another
 * order and each thread draws its dropout.
 *
 * @param wanted Absent: by the machine's cores.
 */
export const trainingThreads = (entryCount: number, wanted = availableParallelism()): number =>
  entryCount < ENTRIES_MIN ? 1 : Math.min(THREADS_MAX, wanted);

/** Memory that the threads of a training take, beyond that of one. */
export const threadsMb = (entryCount: number): number => THREAD_MB * (trainingThreads(entryCount) - 1);

/** The part of a step that is not shared: sums of gradients, Adam, averages, validation. By the pace of two threads. */
const SERIAL = 0.3;

/** How many times as fast a training is with several threads (Amdahl's law). */
export const threadsSpeedUp = (threads: number): number => 1 / (SERIAL + (1 - SERIAL) / threads);
