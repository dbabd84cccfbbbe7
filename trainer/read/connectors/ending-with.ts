/** The values, and `end` afterwards, also when reading fails or is given up. Without anybody who begins to read it is never called. */
export async function* endingWith<Value>(
  values: AsyncIterable<Value>,
  end: () => void | Promise<void>,
): AsyncGenerator<Value> {
  try {
    yield* values;
  } finally {
    await end();
  }
}
