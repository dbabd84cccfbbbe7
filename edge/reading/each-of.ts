/**
 * Does the work for every value, for a few of them at once. After a failure it begins no more, and rejects with the first
 * one when all that was begun has ended: whatever the work uses may be let go then.
 */
export async function eachOf<Value>(
  values: Iterable<Value>,
  atOnce: number,
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
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failures.length > 0) throw failures[0];
}
