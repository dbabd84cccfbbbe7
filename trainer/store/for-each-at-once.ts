import { forEachConcurrently } from "../../shared/concurrently.ts";

/** Requests to the store at a time. */
const CONCURRENCY = 4;

/** Runs the work for every value, a few at a time. After the first failure, or an abort of the signal, no further work starts. */
export const forEachAtOnce = <T>(
  values: readonly T[],
  work: (value: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> =>
  forEachConcurrently(values, CONCURRENCY, async (value) => {
    signal.throwIfAborted();
    await work(value);
  });
