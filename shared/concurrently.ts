/**
 * Does the work for every value, at most `limit` at a time. After a failure no more work begins. The first failure is thrown once all
 * work that had begun has ended, so the caller may then free what the work uses.
 */
export async function forEachConcurrently<Value>(
  values: Iterable<Value>,
  limit: number,
  work: (value: Value) => Promise<void>,
): Promise<void> {
  const queue = values[Symbol.iterator]();
  const failures: unknown[] = [];
  const worker = async () => {
    try {
      while (failures.length === 0) {
        const next = queue.next();
        if (next.done) break;
        await work(next.value);
      }
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  if (failures.length > 0) throw failures[0];
}
