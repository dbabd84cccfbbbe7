/** Requests to the store at a time. */
const CONCURRENCY = 4;

/** Runs the work for every value, a few at a time. After the first failure no further work starts. */
export async function forEachAtOnce<T>(
  values: readonly T[],
  work: (value: T) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const rest = values.values();
  let failed = false;
  const worker = async () => {
    for (const value of rest) {
      if (failed) return;
      signal.throwIfAborted();
      await work(value).catch((error: unknown) => {
        failed = true;
        throw error;
      });
    }
  };
  const settled = await Promise.allSettled(Array.from({ length: Math.min(CONCURRENCY, values.length) }, worker));
  const rejected = settled.find((result) => result.status === "rejected");
  if (rejected) throw rejected.reason;
}
