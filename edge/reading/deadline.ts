/** Work outside the isolate took too long. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** The value of `work`, or DeadlineError after `ms` milliseconds. The work itself is not stopped, and its result is then ignored. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new DeadlineError(`${what} took longer than ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
